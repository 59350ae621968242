#include <doctest/doctest.h>

#include "toolchain/environment.h"
#include "toolchain/kernels.h"
#include "toolchain/toolchain.h"

namespace etc {
namespace {

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("nvrtc compiles a kernel to a cubin") {
  const CompileOutput output = CompileWithNvrtc(kScaleKernel, {});
  INFO(output.log);
  REQUIRE(output.ok);
  CHECK(
      output.binary.starts_with("\x7f"
                                "ELF"));
  CHECK(Contains(output.binary, "Scale"));
  CHECK(output.toolchain.starts_with("nvrtc 1"));
  CHECK(output.flags.front() == "--gpu-architecture=sm_90a");
  CHECK(output.log.empty());
}

TEST_CASE("nvrtc makes the same cubin of the same text") {
  const CompileOutput first = CompileWithNvrtc(kLargeKernel, {});
  const CompileOutput second = CompileWithNvrtc(kLargeKernel, {});
  REQUIRE(first.ok);
  CHECK(first.binary == second.binary);
}

TEST_CASE("nvrtc reports an error with its line") {
  const CompileOutput output = CompileWithNvrtc(kBadKernel, {});
  CHECK_FALSE(output.ok);
  CHECK(output.binary.empty());
  CHECK(Contains(output.log, "etc.cu(2): error: identifier \"unknown_type\" is undefined"));
}

TEST_CASE("nvrtc stops once its work is in vain") {
  const std::atomic<bool> in_vain = true;
  CudaOptions options;
  options.in_vain = &in_vain;
  const CompileOutput output = CompileWithNvrtc(kLargeKernel, options);
  CHECK_FALSE(output.ok);
  CHECK(output.binary.empty());
}

TEST_CASE("nvrtc reports the resources of a kernel when asked") {
  const CompileOutput fitting = CompileWithNvrtc(kScaleKernel, {.resource_usage = true});
  REQUIRE(fitting.ok);
  CHECK(Contains(fitting.log, "Compiling entry function 'Scale' for 'sm_90a'"));
  CHECK(Contains(fitting.log, " 0 bytes spill stores"));
  const CompileOutput spilling = CompileWithNvrtc(
      kLargeKernel, {.resource_usage = true, .extra_flags = {"--maxrregcount=32"}});
  REQUIRE(spilling.ok);
  CHECK(Contains(spilling.log, "bytes spill stores"));
  CHECK_FALSE(Contains(spilling.log, " 0 bytes spill stores"));
}

TEST_CASE("nvrtc refuses a kernel whose wgmma instructions ptxas serialises") {
  const CompileOutput output = CompileWithNvrtc(kSerialisedKernel, {});
  CHECK_FALSE(output.ok);
  CHECK(output.binary.empty());
  CHECK(Contains(output.log, "(C7510)"));
  CHECK(Contains(output.log, "etc: ptxas reports C75"));
}

TEST_CASE("nvrtc refuses an option that it does not know") {
  const CompileOutput output = CompileWithNvrtc(kScaleKernel, {.extra_flags = {"--no-such-flag"}});
  CHECK_FALSE(output.ok);
  CHECK(Contains(output.log, "--no-such-flag"));
}

TEST_CASE("a missing nvrtc is named with the variable to set") {
  const ScopedVariable nvrtc("ETC_NVRTC", "/nowhere/libnvrtc.so.13");
  const CompileOutput output = CompileWithNvrtc(kScaleKernel, {});
  CHECK_FALSE(output.ok);
  CHECK(Contains(output.log, "set ETC_NVRTC"));
  CHECK(Contains(output.log, "/nowhere/libnvrtc.so.13"));
}

TEST_CASE("a library that is not nvrtc is refused") {
  const ScopedVariable nvrtc("ETC_NVRTC", "libm.so.6");
  const CompileOutput output = CompileWithNvrtc(kScaleKernel, {});
  CHECK_FALSE(output.ok);
  CHECK(Contains(output.log, "libm.so.6: not a usable NVRTC"));
}

}  // namespace
}  // namespace etc
