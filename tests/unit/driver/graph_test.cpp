// `etc graph` with a program in the place of Graphviz's `dot`.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "driver/commands.h"
#include "toolchain/scratch_directory.h"

namespace etc {
namespace {

constexpr const char* kCopy = R"(etir 1;
device @copy(%x: f32[4], %y: out f32[4]) tasks (t: 4) { %y[t] = %x[t]; }
graph @g(%x: f32[4], %y: out f32[4]) { call @copy(%x, %y); }
)";

/// A folder that is first in PATH and has a `dot` in it.
class FakeDot {
 public:
  explicit FakeDot(const std::string& script) : path_(std::getenv("PATH")) {
    REQUIRE(scratch_.Write("dot", "#!/bin/sh\n" + script));
    REQUIRE(scratch_.Write("m.etir", kCopy));
    std::filesystem::permissions(scratch_.path() + "/dot", std::filesystem::perms::owner_all);
    setenv("PATH", (scratch_.path() + ":" + path_).c_str(), 1);
  }
  ~FakeDot() { setenv("PATH", path_.c_str(), 1); }

  ExitCode Draw(const std::string& output) const {
    GraphOptions options;
    options.source.file = scratch_.path() + "/m.etir";
    options.output = scratch_.path() + "/" + output;
    return Execute(options);
  }
  std::optional<std::string> Read(const std::string& name) const { return scratch_.Read(name); }

 private:
  ScratchDirectory scratch_;
  std::string path_;
};

TEST_CASE("an output called .svg is what dot makes of the text") {
  FakeDot dot("echo \"$@\" > graph.svg; cat graph.dot >> graph.svg\n");
  CHECK(dot.Draw("m.svg") == ExitCode::Ok);
  CHECK(dot.Draw("m.dot") == ExitCode::Ok);
  auto text = dot.Read("m.dot");
  REQUIRE(text.has_value());
  CHECK(text->find("@copy") != std::string::npos);
  CHECK(dot.Read("m.svg") == "-Tsvg -o graph.svg graph.dot\n" + *text);
}

TEST_CASE("nothing is written when dot fails") {
  FakeDot dot("echo out of ink >&2; exit 3\n");
  CHECK(dot.Draw("m.svg") == ExitCode::ToolchainFailed);
  CHECK_FALSE(dot.Read("m.svg").has_value());
}

}  // namespace
}  // namespace etc
