#include "picture/picture.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "text/parser.h"
#include "verify/verify.h"

namespace etc {
namespace {

constexpr const char* kFanIn = R"(etir 1;
dim n in 1..1000;
device @part(%x: f32[n, 3], %p: out f32[n, 3]) tasks (i: n, j: 3) { %p[i, j] = %x[i, j]; }
device @join(%p: f32[n, 3], %y: out f32[n]) tasks (i: n) { %y[i] = sum(j: 3) %p[i, j]; }
graph @g(%x: f32[n, 3], %y: out f32[n]) {
  %p = buffer f32[n, 3];
  event %done[n] count 3;
  call @part(%x, %p) notify (i, j) => %done[i];
  call @join(%p, %y) wait (i) => %done[i];
}
)";

struct Program {
  explicit Program(const std::string& text) : source("t.etir", text) {
    module = Parse(source, diagnostics);
    REQUIRE(module != nullptr);
    REQUIRE(Verify(*module, diagnostics));
    graph = &module->graphs[module->graphs.Ids()[0]];
    program = MakeCallProgram(*module, *graph);
  }

  Sizes At(int64_t n) const {
    for (SymbolId id : module->symbols.Ids()) {
      if (module->symbols[id].kind == SymbolKind::Dim) {
        return {{{id, n}}, {}};
      }
    }
    return {};
  }

  SourceFile source;
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
  const Graph* graph = nullptr;
  CallProgram program;
};

TEST_CASE("an event is an edge between two calls, with its count and maps") {
  Program fan_in(kFanIn);
  Picture picture;
  AddCalls(*fan_in.module, fan_in.program, "graph @g", picture);
  REQUIRE(picture.nodes.size() == 2);
  CHECK(picture.nodes[0].label == "@part\n(i: n, j: 3)");
  REQUIRE(picture.edges.size() == 1);
  CHECK(picture.edges[0].label ==
        "%done[n]\ncount 3\nnotify (i, j) => %done[i]\nwait (i) => %done[i]");
  CHECK(picture.edges[0].from == 0);
  CHECK(picture.edges[0].to == 1);
  CHECK_FALSE(picture.edges[0].back);
}

TEST_CASE("at given sizes there is a node for each task and each element") {
  Program fan_in(kFanIn);
  Picture picture;
  REQUIRE(AddTasks(*fan_in.module, fan_in.program, "graph @g", fan_in.At(5), {}, picture,
                   fan_in.diagnostics));
  auto events = std::count_if(picture.nodes.begin(), picture.nodes.end(),
                              [](const PictureNode& node) { return node.event; });
  CHECK(events == 5);
  CHECK(picture.nodes.size() == 5 + 15 + 5);
  CHECK(picture.edges.size() == 15 + 5);
  for (const PictureEdge& edge : picture.edges) {
    CHECK(picture.nodes[edge.from].event != picture.nodes[edge.to].event);
  }
}

TEST_CASE("a picture that nobody can read is refused, and costs nothing") {
  Program fan_in(kFanIn);
  Picture picture;
  CHECK_FALSE(AddTasks(*fan_in.module, fan_in.program, "graph @g", fan_in.At(1000), {}, picture,
                       fan_in.diagnostics));
  CHECK(fan_in.diagnostics.error_count() == 1);
  CHECK(picture.nodes.size() <= kMaxPictureNodes + 2);
}

TEST_CASE("a label is quoted in DOT") {
  Picture picture;
  picture.nodes.push_back({"a \"b\" \\\nc", 0, true});
  picture.nodes.push_back({"d", 0});
  picture.edges.push_back({0, 1, "e", true});
  std::string dot = PrintDot(picture);
  CHECK(dot.find(R"(n0 [label="a \"b\" \\\nc", shape=ellipse)") != std::string::npos);
  CHECK(dot.find(R"(n1 -> n0 [label=" e\l", style=dashed, dir=back];)") != std::string::npos);
}

}  // namespace
}  // namespace etc
