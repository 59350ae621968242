#include <dlfcn.h>
#include <doctest/doctest.h>

#include <filesystem>

#include "support/scratch_directory.h"
#include "toolchain/environment.h"
#include "toolchain/toolchain.h"

namespace etc {
namespace {

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the host compiler makes a shared object that runs") {
  const CompileOutput output = CompileHost(
      "extern \"C\" __attribute__((visibility(\"default\"))) int Square(int x) {\n"
      "  return x * x;\n}\n",
      {});
  INFO(output.log);
  REQUIRE(output.ok);
  CHECK(output.log.empty());
  ScratchDirectory scratch;
  REQUIRE(scratch.Write("square.so", output.binary));
  void* library = dlopen((scratch.path() + "/square.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto square = reinterpret_cast<int (*)(int)>(dlsym(library, "Square"));
  REQUIRE(static_cast<bool>(square));
  CHECK(square(12) == 144);
  dlclose(library);
}

TEST_CASE("the host compiler makes the same object of the same text in any folder") {
  const char* text = "static int hidden = 1;\nextern \"C\" int Next() { return ++hidden; }\n";
  const CompileOutput first = CompileHost(text, {});
  ScratchDirectory parent;
  const ScopedVariable folder("TMPDIR", parent.path().c_str());
  const CompileOutput second = CompileHost(text, {});
  REQUIRE(first.ok);
  CHECK(first.binary == second.binary);
  CHECK(std::filesystem::is_empty(parent.path()));
}

TEST_CASE("the host compiler reports an error with its line and leaves no file behind") {
  ScratchDirectory parent;
  const ScopedVariable folder("TMPDIR", parent.path().c_str());
  const CompileOutput output = CompileHost("int fine;\nunknown_type bad;\n", {});
  CHECK_FALSE(output.ok);
  CHECK(output.binary.empty());
  CHECK(Contains(output.log, "etc.cpp:2:1: error:"));
  CHECK(std::filesystem::is_empty(parent.path()));
}

TEST_CASE("options of CXX are among the flags") {
  const char* text = "extern \"C\" int Value() { return VALUE; }\n";
  const ScopedVariable compiler("CXX", "env c++ -DVALUE=3 -g0");
  const CompileOutput output = CompileHost(text, {});
  INFO(output.log);
  REQUIRE(output.ok);
  REQUIRE(output.flags.size() > 3);
  CHECK(output.flags[0] == "-DVALUE=3");
  CHECK(output.flags[1] == "-g0");
  CHECK(output.flags[2] == "-shared");
}

TEST_CASE("extra flags reach the host compiler") {
  const char* text = "extern \"C\" int Value() { return VALUE; }\n";
  CHECK_FALSE(CompileHost(text, {}).ok);
  const CompileOutput output = CompileHost(text, {.extra_flags = {"-DVALUE=3"}});
  CHECK(output.ok);
  CHECK(output.flags.back() == "-DVALUE=3");
}

TEST_CASE("CXX may hold a command of several words") {
  const ScopedVariable cxx("CXX", "env g++");
  CHECK(CompileHost("int x;\n", {}).ok);
}

TEST_CASE("a missing host compiler is named with the variable to set") {
  SUBCASE("the one that CXX names") {
    const ScopedVariable cxx("CXX", "/nowhere/g++");
    const CompileOutput output = CompileHost("int x;\n", {});
    CHECK_FALSE(output.ok);
    CHECK(output.log == "cannot run `/nowhere/g++`, which CXX names\n");
  }
  SUBCASE("none on PATH") {
    const ScopedVariable cxx("CXX", nullptr);
    const ScopedVariable path("PATH", "/nowhere");
    const CompileOutput output = CompileHost("int x;\n", {});
    CHECK_FALSE(output.ok);
    CHECK(Contains(output.log, "set CXX"));
  }
}

TEST_CASE("a TMPDIR that is no folder gives way to /tmp") {
  const ScopedVariable folder("TMPDIR", "/dev/null");
  CHECK(CompileHost("int x;\n", {}).ok);
}

}  // namespace
}  // namespace etc
