// What a host binary needs of the process that loads it, and leaves there.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <sstream>
#include <vector>

#include "emit/host_binary.h"
#include "support/scratch_directory.h"
#include "toolchain/subprocess.h"

namespace etc {
namespace {

/// A program of two calls with an event between them, and mathematics: y = exp(x) * factor.
std::string TextWith(const std::string& factor) {
  return R"(etir 1;
dim n in 1..64;
device @a(%x: f32[n], %t: out f32[n]) tasks (i: n) { %t[i] = exp(%x[i]) * sin(%x[i]); }
device @b(%t: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %t[i] * 0 + )" +
         factor + R"(; }
graph @g(%x: f32[n], %y: out f32[n]) {
  %t = buffer f32[n];
  event %done[n] count 1;
  call @a(%x, %t) notify (i) => %done[i];
  call @b(%t, %y) wait (i) => %done[i];
}
)";
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// The words behind `key` in the lines of what a tool prints that have it.
std::vector<std::string> Behind(const std::string& text, const std::string& key) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const size_t at = line.find(key); at != std::string::npos) {
      found.push_back(line.substr(at + key.size()));
    }
  }
  return found;
}

TEST_CASE("a host binary needs libc and libm, exports its entries only, and reads no environment") {
  ScratchDirectory scratch;
  REQUIRE(scratch.Write("g.so", HostBinaryOf(TextWith("1")).binary));
  const std::string path = scratch.path() + "/g.so";
  const std::string dynamic = RunProcess({"readelf", "-dW", path}, scratch.path()).output;
  for (const std::string& library : Behind(dynamic, "Shared library: ")) {
    CAPTURE(library);
    CHECK((library == "[libc.so.6]" || library == "[libm.so.6]"));
  }
  const std::string symbols =
      RunProcess({"readelf", "--dyn-syms", "-W", path}, scratch.path()).output;
  CHECK(symbols.find("UNIQUE") == std::string::npos);
  CHECK(symbols.find("getenv") == std::string::npos);
  std::istringstream lines(symbols);
  std::vector<std::string> exported;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string field; words >> field;) {
      fields.push_back(field);
    }
    if (fields.size() == 8 && fields[6] != "UND" && fields[7] != "Name") {
      exported.push_back(fields[7]);
    }
  }
  CHECK(exported == std::vector<std::string>{"etc_g"});
}
#endif

TEST_CASE("a host binary that is closed is gone, and another one under its path is what it says") {
  ScratchDirectory scratch;
  const std::string path = scratch.path() + "/g.so";
  for (const float factor : {3.0F, 5.0F}) {
    REQUIRE(scratch.Write("g.so", HostBinaryOf(TextWith(std::to_string(factor))).binary));
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    const auto entry =
        reinterpret_cast<void (*)(const uint64_t*, int, int)>(dlsym(library, "etc_g"));
    REQUIRE(static_cast<bool>(entry));
    float x = 0, y = 0;
    std::vector<uint32_t> events(1 << 12), workspace(1 << 12);
    const uint64_t block[] = {reinterpret_cast<uintptr_t>(&x),
                              reinterpret_cast<uintptr_t>(&y),
                              1,
                              reinterpret_cast<uintptr_t>(workspace.data()),
                              reinterpret_cast<uintptr_t>(events.data()),
                              16};
    entry(block, 0, 1);
    CHECK(y == factor);
    dlclose(library);
    CHECK(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) == nullptr);
  }
}

}  // namespace
}  // namespace etc
