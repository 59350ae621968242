// How many tasks the axes of a device function make.
#include "ir/task_count.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "ir/printer.h"
#include "text/parser.h"

namespace etc {
namespace {

/// A device function with these tasks.
struct Tasks {
  explicit Tasks(const std::string& axes)
      : source("t.etir",
               "etir 1;\ndim n in 2..8;\n"
               "device @f(%len: i32[4], %y: out i32[4]) tasks (" +
                   axes + ") { %y[0] = 1; }\n"),
        module(Parse(source, diagnostics)) {
    INFO(RenderText(diagnostics, &source));
    REQUIRE(module != nullptr);
  }

  const std::vector<Axis>& axes() const { return module->devices[DeviceId{0}].tasks; }
  std::string Count() { return Print(*module, TaskCount(*module, axes())); }
  std::optional<int64_t> At(int64_t n, int64_t most = 100) const {
    Env sizes;
    for (SymbolId id : module->symbols.Ids()) {
      if (module->symbols[id].name == "n") {
        sizes[id] = n;
      }
    }
    return TaskCountAt(*module, axes(), sizes, {}, most);
  }
  std::optional<int64_t> Most() const {
    return MostTasks(axes(), [&](ExprId bound) { return Bounds(*module, bound, {}); });
  }

  SourceFile source;
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
};

TEST_CASE("independent axes multiply") {
  CHECK(Tasks("i: n, j: 4").Count() == "n * 4");
  CHECK(Tasks("i: 2 .. n, j: 1").Count() == "n - 2");
  CHECK(Tasks("i: 3, j: 4").Count() == "12");
  CHECK(Tasks("i: 2 .. n, j: 4").At(5) == 12);
  CHECK(Tasks("i: 4 .. n").At(2) == 0);
}

TEST_CASE("where an axis depends on another each task counts") {
  CHECK(Tasks("i: n, j: i + 1").Count() == "sum(i: n, j: i + 1) 1");
  CHECK(Tasks("i: n, j: i + 1").At(4) == 10);
}

TEST_CASE("a count goes no further than asked") {
  CHECK(Tasks("i: 1000, j: i + 1").At(2, 5) > 5);
  CHECK(Tasks("i: 1000, j: i + 1").At(2, 5) < 1000);
}

TEST_CASE("data that decide a range leave a sum, and no number") {
  CHECK(Tasks("e: 4, m: %len[e]").Count() == "sum(e: 4, m: %len[e]) 1");
  CHECK_FALSE(Tasks("e: 4, m: %len[e]").At(2));
}

TEST_CASE("the most tasks follow from the ranges of the sizes") {
  CHECK(Tasks("i: n, j: 4").Most() == 32);
  CHECK(Tasks("i: 2 .. n").Most() == 6);
  CHECK_FALSE(Tasks("i: 4294967296, j: 4294967296").Most());
}

}  // namespace
}  // namespace etc
