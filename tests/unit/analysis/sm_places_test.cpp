// On which SMs tasks of a kernel run that notify an element and wait for it.
#include "analysis/sm_places.h"

#include <doctest/doctest.h>

#include <string>

#include "analysis/events_of_sm.h"
#include "text/parser.h"

namespace etc {
namespace {

/// A kernel of two shares, with an event between them, in a repeat.
std::string Kernel(const std::string& first, const std::string& notify, const std::string& second,
                   const std::string& wait) {
  return R"(etir 1;
dim n in 1..300;
dim m in 1..20;
device @f(%x: f32[n, m], %y: out f32[n, m]) tasks (i: n, j: m) { %y[i, j] = %x[i, j]; }
kernel @k(%x: f32[n, m], %z: out f32[n, m]) of @g static {
  launch consumers 8 shared 232448;
  let row = n * m;
  %y = workspace f32[n, m] at 0;
  event %e[4, n, m] count 1 via counter at 0;
  on sm {
    repeat l in 0..4 {
      share (i: n, j: m) from )" +
         first + R"( { run @f[i, j](%x, %y); notify )" + notify + R"(; }
      share (i: n, j: m) from )" +
         second + R"( { wait )" + wait + R"(; run @f[i, j](%y, %z); }
    }
  }
}
)";
}

struct Places {
  explicit Places(const std::string& text)
      : source("t.etir", text),
        module(Parse(source, diagnostics)),
        program(MakeCallProgram(*module, module->kernels[KernelId{0}])),
        unknowns(*module, program, context),
        relations(MakeEventRelations(unknowns)),
        apart(SmPlaces(unknowns).Apart(relations.notifies.at(0), relations.waits.at(0))) {}

  bool AreEqual() const { return IsEmpty(apart); }

  SourceFile source;
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
  CallProgram program;
  IslContext context;
  Unknowns unknowns;
  EventRelations relations;
  Set apart;
};

TEST_CASE("tasks of one number are on one SM if their shares begin at one place") {
  CHECK(Places(Kernel("0", "%e[l, i, j]", "0", "%e[l, i, j]")).AreEqual());
  CHECK(Places(Kernel("l * row + 7", "%e[l, i, j]", "7 + n * m * l", "%e[l, i, j]")).AreEqual());
  CHECK_FALSE(Places(Kernel("0", "%e[l, i, j]", "1", "%e[l, i, j]")).AreEqual());
  CHECK_FALSE(Places(Kernel("0", "%e[l, i, j]", "row", "%e[l, i, j]")).AreEqual());
  CHECK_FALSE(Places(Kernel("0", "%e[l, i, j]", "0", "%e[l, i, *]")).AreEqual());
  CHECK_FALSE(Places(Kernel("0", "%e[l, i, 0]", "0", "%e[l, i, 0]")).AreEqual());
}

TEST_CASE("tasks of different numbers are on one SM if their shares begin so far apart") {
  CHECK(Places(Kernel("1", "%e[l, i, j]", "0", "%e[l, i, j - 1] if j > 0")).AreEqual());
  CHECK_FALSE(Places(Kernel("0", "%e[l, i, j]", "1", "%e[l, i, j - 1] if j > 0")).AreEqual());
}

TEST_CASE("iterations count") {
  CHECK(Places(Kernel("0", "%e[l, i, j]", "0", "%e[l - 1, i, j] if l > 0")).AreEqual());
  CHECK_FALSE(Places(Kernel("l", "%e[l, i, j]", "l", "%e[l - 1, i, j] if l > 0")).AreEqual());
  CHECK(Places(Kernel("l", "%e[l, i, j]", "l - 1", "%e[l - 1, i, j] if l > 0")).AreEqual());
}

TEST_CASE("a multiple of the number of SMs moves no task") {
  CHECK(Places(Kernel("0", "%e[l, i, j]", "2 * sms * n", "%e[l, i, j]")).AreEqual());
  CHECK(Places(Kernel("sms + 3", "%e[l, i, j]", "3", "%e[l, i, j]")).AreEqual());
  CHECK_FALSE(Places(Kernel("0", "%e[l, i, j]", "sms + 1", "%e[l, i, j]")).AreEqual());
  CHECK_FALSE(Places(Kernel("0", "%e[l, i, j]", "2 * (sms / 2)", "%e[l, i, j]")).AreEqual());
}

TEST_CASE("of what the text shows") {
  auto obstacle = [](const std::string& text, Realisation via) {
    SourceFile source("t.etir", text);
    Diagnostics diagnostics;
    auto module = Parse(source, diagnostics);
    REQUIRE(module);
    auto found = FindViaObstacle(*module, module->kernels[KernelId{0}], EventId{0}, via);
    return found ? found->why : "";
  };
  std::string text = Kernel("0", "%e[l, i, j]", "0", "%e[l, i, j]");
  CHECK(obstacle(text, Realisation::Shared).empty());
  CHECK(obstacle(text, Realisation::None).empty());
  std::string by_class = text;
  by_class.replace(by_class.find("{ %y[i, j]"), 1, "{ impl sm_90a \"f.cuh\" F<rows = 1>; ");
  CHECK(obstacle(by_class, Realisation::Shared).empty());
  CHECK(obstacle(by_class, Realisation::None).find("epilogue warp") != std::string::npos);
}

TEST_CASE("counters in shared memory are as many as the largest sizes need") {
  SourceFile source("t.etir", Kernel("0", "%e[l, i, j]", "0", "%e[l, i, j]"));
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  REQUIRE(module);
  const etc::Kernel& kernel = module->kernels[KernelId{0}];
  CHECK(CtaCounters(*module, kernel) == 0);
  CHECK(MostCounters(*module, kernel, module->events[EventId{0}]) == 4 * 300 * 20);
  module->events[EventId{0}].realisation = Realisation::Shared;
  CHECK(CtaCounters(*module, kernel) == 4 * 300 * 20);
}

}  // namespace
}  // namespace etc
