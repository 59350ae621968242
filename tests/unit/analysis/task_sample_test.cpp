// The tasks of a program at given sizes.
#include "analysis/order/task_sample.h"

#include <doctest/doctest.h>

#include "ir/requirements.h"
#include "text/parser.h"

namespace etc {
namespace {

struct Sampled {
  Sampled(const std::string& text, int64_t size)
      : source("t.etir", text),
        module(Parse(source, diagnostics)),
        program(MakeCallProgram(*module, module->graphs[GraphId{0}])),
        sample(*module, program, {{DimsOf(*module).front(), size}}) {}

  SourceFile source;
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
  CallProgram program;
  TaskSample sample;
};

/// Layers of a call that has tasks at even sizes alone.
std::string Layers(const std::string& layers) {
  return "etir 1;\ndim n in 1..64;\n"
         "device @even(%x: inout f32[n]) tasks (i: select(n % 2 == 0, n, 0)) { %x[i] = 0.0; }\n"
         "graph @g(%x: inout f32[n]) { repeat l in 0.." +
         layers + " { call @even(%x); } }\n";
}

TEST_CASE("few tasks are known, and none where there are none") {
  CHECK(Sampled(Layers("5"), 4).sample.NumberOf(0, {4, 3}) == 19);
  CHECK(Sampled(Layers("5"), 3).sample.has_tasks());
}

TEST_CASE("no time is spent on iterations without end, be there tasks or not") {
  CHECK_FALSE(Sampled(Layers("1 << 62"), 4).sample.has_tasks());
  CHECK_FALSE(Sampled(Layers("1 << 62"), 3).sample.has_tasks());
}

}  // namespace
}  // namespace etc
