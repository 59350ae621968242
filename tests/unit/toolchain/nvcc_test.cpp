#include <doctest/doctest.h>

#include <filesystem>

#include "support/scratch_directory.h"
#include "toolchain/environment.h"
#include "toolchain/kernels.h"
#include "toolchain/toolchain.h"

namespace etc {
namespace {

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("nvcc compiles a kernel to a cubin and leaves no file behind") {
  ScratchDirectory parent;
  const ScopedVariable folder("TMPDIR", parent.path().c_str());
  const CompileOutput output = CompileWithNvcc(kScaleKernel, {});
  INFO(output.log);
  REQUIRE(output.ok);
  CHECK(
      output.binary.starts_with("\x7f"
                                "ELF"));
  CHECK(Contains(output.binary, "Scale"));
  CHECK_FALSE(Contains(output.binary, parent.path().c_str()));
  CHECK(output.toolchain.starts_with("nvcc 1"));
  CHECK(std::filesystem::is_empty(parent.path()));
}

TEST_CASE("nvcc makes the same cubin of the same text") {
  const CompileOutput first = CompileWithNvcc(kLargeKernel, {});
  const CompileOutput second = CompileWithNvcc(kLargeKernel, {});
  REQUIRE(first.ok);
  CHECK(first.binary == second.binary);
}

TEST_CASE("nvcc reports an error with its line and leaves no file behind") {
  ScratchDirectory parent;
  const ScopedVariable folder("TMPDIR", parent.path().c_str());
  const CompileOutput output = CompileWithNvcc(kBadKernel, {});
  CHECK_FALSE(output.ok);
  CHECK(output.binary.empty());
  CHECK(Contains(output.log, "etc.cu(2): error: identifier \"unknown_type\" is undefined"));
  CHECK(Contains(output.log, "nvcc ended with exit code"));
  CHECK(std::filesystem::is_empty(parent.path()));
}

TEST_CASE("nvcc reports the resources of a kernel when asked") {
  const CompileOutput output =
      CompileWithNvcc(kLargeKernel, {.resource_usage = true, .extra_flags = {"--maxrregcount=32"}});
  REQUIRE(output.ok);
  CHECK(Contains(output.log, "Compiling entry function 'Large' for 'sm_90a'"));
  CHECK_FALSE(Contains(output.log, " 0 bytes spill stores"));
}

TEST_CASE("nvcc refuses a kernel whose wgmma instructions ptxas serialises") {
  const CompileOutput output = CompileWithNvcc(kSerialisedKernel, {});
  CHECK_FALSE(output.ok);
  CHECK(Contains(output.log, "etc: ptxas reports C75"));
}

TEST_CASE("a missing nvcc is named with the variable that chose it") {
  const ScopedVariable nvcc("ETC_NVCC", "/nowhere/nvcc");
  const CompileOutput output = CompileWithNvcc(kScaleKernel, {});
  CHECK_FALSE(output.ok);
  CHECK(output.log == "cannot run `/nowhere/nvcc`, which ETC_NVCC names\n");
}

}  // namespace
}  // namespace etc
