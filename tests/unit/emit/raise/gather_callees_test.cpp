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

TEST_CASE("the launch block has the sizes of the graph") {
  RaisedText text(kChain);
  CHECK(text.Says("  launch block with n"));
  CHECK(text.Kernel().launches.empty());
}

TEST_CASE("launches, and the repeats around them") {
  RaisedText text(R"(device @f(%x: f32[8]) tasks (i: 8) { local %s: f32[1]; %s[0] = %x[i]; }
kernel @g(%a: f32[8]) of @g kernels {
  launch consumers 8 shared 225280;
  on stream {
    launch (i: 8) run @f[i](%a);
    repeat l in 0..4 { launch (i: 8) run @f[i](%a); }
  }
}
)");
  REQUIRE(text.Kernel().launches.size() == 2);
  CHECK(text.Kernel().launches[0].iterations.empty());
  CHECK(text.Kernel().launches[1].iterations.size() == 1);
  CHECK(text.Kernel().iterations == 1);
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
