// What a kernel runs, and what it passes to it.
#include "raised_text.h"

namespace etc {
namespace {

const char* const kChain = R"(dim n in 1..8;
device @f(%x: f32[n], %y: out f32[n]) tasks (i: n) {
  impl sm_90a "copy.cuh" Copy flagged (%x, %y);
  %y[i] = %x[i];
}
device @unused(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
device @h(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
kernel @g(%in: f32[n], %out: out f32[n]) of @g static where (n in 1..4) {
  launch consumers 8 shared 225280;
  %s = workspace flagged f32[n] at 256;
  on sm {
    share (i: n) from 0 { run @f[i](%in, %s); }
    share (i: n) from n { run @f[i](%s, %out); }
    share (i: n) from n { run @h[i](%in, %out); }
  }
}
)";

TEST_CASE("device functions of a kernel, each once") {
  RaisedText text(kChain);
  CHECK(text.Says("kernel @g runs @f, @h"));
  CHECK(text.Kernel().devices.size() == 2);
}

TEST_CASE("parameters bound to flagged buffers, and to what the launch computes") {
  RaisedText text(kChain);
  CHECK(text.Says("  flagged: %x of @f, %y of @f"));
  CHECK(text.Says("  computed in the launch: %x of @f"));
}

TEST_CASE("the sizes of a kernel") {
  RaisedText text(kChain);
  REQUIRE(text.Kernel().ranges.size() == 1);
  CHECK(text.Kernel().ranges.begin()->second.hi == 4);
}

TEST_CASE("the passes have different names") {
  std::set<std::string_view> names{"raise"};
  for (const RaisePass& pass : RaisePasses()) {
    CHECK(names.insert(pass.name).second);
    CHECK(!pass.summary.empty());
  }
}

}  // namespace
}  // namespace etc
