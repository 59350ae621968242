// What comes before what, asked of whole calls and of elements.
#include "analysis/order/order.h"

#include <doctest/doctest.h>

#include <string>

#include "text/parser.h"

namespace etc {
namespace {

const std::string kDevices = R"(etir 1;
dim n in 1..8;
device @copy(%x: i32[n], %y: out i32[n]) tasks (i: n) { %y[i] = %x[i]; }
)";

/// The first kernel of a text, as it stands.
struct Scheduled {
  explicit Scheduled(const std::string& text)
      : source("t.etir", kDevices + text),
        module(ParseOrFail()),
        program(MakeCallProgram(*module, module->kernels[KernelId{0}])),
        order(*module, program) {}

  std::unique_ptr<Module> ParseOrFail() {
    auto parsed = Parse(source, diagnostics);
    INFO(RenderText(diagnostics, &source));
    REQUIRE(parsed != nullptr);
    return parsed;
  }

  TensorId Tensor(const std::string& name) const {
    TensorId found;
    for (TensorId id : module->tensors.Ids()) {
      found = module->tensors[id].name == name ? id : found;
    }
    return found;
  }

  SourceFile source;
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
  CallProgram program;
  Order order;
};

/// Three shares in a row, of which the second and the third wait as given.
std::string Chain(const std::string& second, const std::string& third) {
  return R"(
kernel @k(%x: i32[n], %y: out i32[n]) of @g static {
  launch consumers 8 shared 232448;
  %a = workspace i32[n] at 0;
  %b = workspace i32[n] at 256;
  event %a_done[n] count n;
  event %b_done[n] count n;
  on sm {
    share (i: n) from 0 { run @copy[i](%x, %a); notify %a_done[0]; }
    share (i: n) from n { )" +
         second + R"( run @copy[i](%a, %b); notify %b_done[0]; }
    share (i: n) from n * 2 { )" +
         third + R"( run @copy[i](%b, %y); }
  }
}
)";
}

TEST_CASE("a wait on entering a share orders all of its tasks, and through them others") {
  Scheduled chain(Chain("enter { wait %a_done[0]; }", "enter { wait %b_done[0]; }"));
  CHECK(chain.order.Before(0, 1));
  CHECK(chain.order.Before(1, 2));
  CHECK(chain.order.Before(0, 2));
  CHECK_FALSE(chain.order.Before(1, 0));
  CHECK_FALSE(chain.order.Before(0, 0));
}

TEST_CASE("a wait of each task for an element of its own orders no whole calls") {
  Scheduled chain(Chain("wait %a_done[i];", "enter { wait %b_done[0]; }"));
  CHECK_FALSE(chain.order.Before(0, 1));
  CHECK_FALSE(chain.order.Before(0, 2));
  CHECK(chain.order.Before(1, 2));
}

TEST_CASE("elements of events are compared by value") {
  CHECK(Scheduled(Chain("enter { wait %a_done[1 - 1]; }", "")).order.Before(0, 1));
  CHECK_FALSE(Scheduled(Chain("enter { wait %a_done[n - 1]; }", "")).order.Before(0, 1));
}

TEST_CASE("an event is redundant where others join the same uses") {
  Scheduled chain(
      Chain("enter { wait %a_done[0]; }", "enter { wait %b_done[0]; wait %a_done[0]; }"));
  CHECK(chain.order.Redundant(chain.program.events).empty());
  chain.module->tensors[chain.Tensor("a")].flagged = true;
  std::set<EventId> redundant = Order(*chain.module, chain.program).Redundant(chain.program.events);
  CHECK(redundant == std::set<EventId>{chain.program.events[0]});
}

TEST_CASE("a tensor is complete behind the wait for all that write it") {
  Scheduled chain(Chain("enter { wait %a_done[0]; }", "enter { wait %b_done[0]; }"));
  const ProgramCall& second = chain.program.calls[1];
  CHECK(chain.order.IsComplete(second, 1, 0));
  CHECK_FALSE(chain.order.IsComplete(second, 0, 0));
  CHECK_FALSE(chain.order.IsComplete(second, 1, 1));            // written by itself
  CHECK(chain.order.IsComplete(chain.program.calls[0], 0, 0));  // by none
}

/// A step of layers of two shares; the first waits for the second of the layer before.
const std::string kLayers = R"(
kernel @k(%x: i32[n], %y: out i32[n]) of @g static {
  launch consumers 8 shared 232448;
  %a = workspace i32[n] at 0;
  %b = workspace i32[n] at 256;
  event %ready[5] count n;
  event %half[4] count n;
  on sm {
    repeat l in 0..4 {
      share (i: n) from 0 { enter { wait %ready[l]; } run @copy[i](%b, %a); notify %half[l]; }
      share (i: n) from n { enter { wait %half[l]; } run @copy[i](%a, %b); notify %ready[l + 1]; }
    }
  }
}
)";

TEST_CASE("the next iteration of a repeat is asked for apart") {
  Scheduled layers(kLayers);
  CHECK(layers.order.Before(0, 1));
  CHECK_FALSE(layers.order.Before(1, 0));
  CHECK(layers.order.BeforeNext(1, 0));
  CHECK(layers.order.BeforeNext(0, 0));  // through the second share
  CHECK(layers.order.BeforeNext(1, 1));
}

TEST_CASE("launches follow each other without events") {
  Scheduled launches(R"(
kernel @k(%x: i32[n], %y: out i32[n]) of @g kernels {
  launch consumers 8 shared 232448;
  %a = workspace i32[n] at 0;
  on stream {
    launch (i: n) run @copy[i](%x, %a);
    launch (i: n) run @copy[i](%a, %y);
  }
}
)");
  CHECK(launches.order.Before(0, 1));
  CHECK_FALSE(launches.order.Before(1, 0));
  CHECK(launches.order.IsComplete(launches.program.calls[1], 0, 0));
}

}  // namespace
}  // namespace etc
