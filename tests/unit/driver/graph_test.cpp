// `etc graph` with a program in the place of Graphviz's `dot`.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "driver/commands.h"
#include "support/scratch_directory.h"
#include "toolchain/subprocess.h"

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

/// How often a text has a word.
size_t Count(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

TEST_CASE("Graphviz, where there is one, draws every call, event and iteration") {
  if (!IsExecutable("dot")) {
    return;
  }
  ScratchDirectory scratch;
  REQUIRE(scratch.Write("m.etir", R"(etir 1;
const layers = 3;
dim n in 1..64;
device @step(%x: f32[n], %y: out f32[n]) tasks (t: ceildiv(n, 8)) {
  for (i: t * 8 .. min(n, t * 8 + 8)) %y[i] = %x[i];
}
graph @g(%x: f32[n], %y: out f32[n]) {
  %h = buffer f32[layers + 1, n];
  event %ready[l: layers + 1, ceildiv(n, 8)] count 1;
  call @step(%x, %h[0]) notify (t) => %ready[0, t];
  repeat l in 0..layers {
    call @step(%h[l], %h[l + 1]) wait (t) => %ready[l, t] notify (t) => %ready[l + 1, t];
  }
  call @step(%h[layers], %y) wait (t) => %ready[layers, t];
}
)"));
  GraphOptions options;
  options.source.file = scratch.path() + "/m.etir";
  options.output = scratch.path() + "/calls.svg";
  REQUIRE(Execute(options) == ExitCode::Ok);
  const std::string calls = scratch.Read("calls.svg").value();
  CHECK(Count(calls, "class=\"node\"") == 3);
  CHECK(Count(calls, "class=\"edge\"") == 4);
  CHECK(Count(calls, "stroke-dasharray") == 1);
  CHECK(Count(calls, "class=\"cluster\"") == 2);
  options.output = scratch.path() + "/tasks.svg";
  options.dims = {"n=9"};
  REQUIRE(Execute(options) == ExitCode::Ok);
  const std::string tasks = scratch.Read("tasks.svg").value();
  CHECK(Count(tasks, "class=\"node\"") == 5 * 2 + 4 * 2);
  CHECK(Count(tasks, "class=\"edge\"") == 4 * 2 + 4 * 2);
  CHECK(Count(tasks, "class=\"cluster\"") == 1 + 2 + 3 * 2);
}

}  // namespace
}  // namespace etc
