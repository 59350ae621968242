// What roles do in shares, and who waits and notifies.
#include "raised_text.h"

namespace etc {
namespace {

const char* const kGemm = R"(dim n in 1..8;
device @gemm(%w: f32[64, 64], %x: f32[64], %y: out f32[64]) tasks (m: 8) {
  impl sm_90a "gemm.cuh" Gemm<rows = 8> preloaded (%w);
  for (r: 8) %y[m * 8 + r] = sum(k: 64) %w[m * 8 + r, k] * %x[k];
}
device @add(%x: f32[64], %y: out f32[64]) tasks (m: 8) { for (r: 8) %y[m * 8 + r] = %x[r]; }
kernel @g(%w: f32[64, 64], %a: f32[64], %c: out f32[64]) of @g static {
  launch consumers 8 shared 225280;
  loader in_flight 3 interval 900;
  %s = workspace f32[64] at 0;
  event %s_done[4] count 8 via counter at 0;
  on sm {
    repeat l in 0..4 {
      share (m: 8) from 0 {
        loader in_flight 2 interval 0;
        run @gemm[m](%w, %a, %s);
        leave { notify %s_done[l]; }
      }
    }
    repeat l in 0..4 {
      share (m: 8) from 0 { wait %s_done[l]; run @add[m](%s, %c); }
    }
    share (m: 8) from 0 { run @gemm[m](%w, %a, %s); }
  }
}
)";

TEST_CASE("the loader walks what preloads, and the repeats around it") {
  RaisedText text(kGemm);
  const RaisedKernel& kernel = text.Kernel();
  std::vector<ShareSite> sites = SharesOf(*text.module, kernel.kernel);
  CHECK(kernel.preloading == std::set<NodeId>{sites[0].share, sites[0].repeats[0], sites[2].share});
  CHECK(RaisedText(kGemm, Arch::Host).Kernel().preloading.empty());
}

TEST_CASE("roles without work in a share leave it out, and the others know what to wait for") {
  auto part = [](const RaisedShare& share, Role role) {
    return share.roles[static_cast<size_t>(role)];
  };
  RaisedText text(kGemm);
  CHECK(part(text.Share(0), Role::Loader).walks);
  CHECK_FALSE(part(text.Share(1), Role::Loader).walks);
  CHECK(part(text.Share(1), Role::Consumer).walks);
  CHECK_FALSE(part(text.Share(1), Role::Consumer).waits_first);
  CHECK(part(text.Share(0), Role::Consumer).reads_flags);
  CHECK_FALSE(part(text.Share(0), Role::Loader).reads_flags);
  RaisedText ranges(R"(device @f(%x: i32[8] in 0..8) tasks (i: %x[0]) { local %s: f32[1]; }
kernel @g(%a: i32[8] in 0..8) of @g kernels {
  launch consumers 8 shared 225280;
  on stream { launch (i: %a[0]) run @f[i](%a); }
}
)");
  CHECK(part(ranges.Share(0), Role::Consumer).waits_first);
  CHECK_FALSE(part(ranges.Share(0), Role::Prefetch).walks);
}

TEST_CASE("of a case the scheduler hands the tasks to all roles, also to those without work") {
  RaisedText text(R"(device @gemm(%w: f32[64, 64], %x: f32[64], %y: out f32[64]) tasks (m: 8) {
  impl sm_90a "gemm.cuh" Gemm<rows = 8> preloaded (%w);
  for (r: 8) %y[m * 8 + r] = sum(k: 64) %w[m * 8 + r, k] * %x[k];
}
device @add(%x: f32[64], %y: out f32[64]) tasks (m: 8) { for (r: 8) %y[m * 8 + r] = %x[r]; }
kernel @g(%w: f32[64, 64], %a: f32[64], %c: out f32[64]) of @g dynamic {
  launch consumers 8 shared 225280;
  %s = workspace f32[64] at 0;
  event %s_done count 8 via counter at 0;
  on sm {
    dispatch drain ahead 2 at 1 {
      case (m: 8) { run @gemm[m](%w, %a, %s); leave { notify %s_done; } }
    }
    repeat l in 0..2 {
      dispatch drain ahead 2 at 2 {
        case (m: 8) { enter { wait %s_done; } run @add[m](%s, %c); }
      }
    }
    share (m: 8) from 0 { run @gemm[m](%w, %a, %c); }
  }
}
)");
  auto part = [&](size_t share, Role role) {
    return text.Share(share).roles[static_cast<size_t>(role)];
  };
  CHECK(part(0, Role::Scheduler).walks);
  CHECK(part(1, Role::Scheduler).walks);
  CHECK_FALSE(part(2, Role::Scheduler).walks);
  CHECK(part(0, Role::Loader).walks);
  CHECK_FALSE(part(1, Role::Loader).walks);
  CHECK(part(1, Role::Loader).skips);
  std::vector<ShareSite> sites = SharesOf(*text.module, text.Kernel().kernel);
  CHECK(text.Kernel().dispatching ==
        std::set<NodeId>{sites[0].share, sites[1].share, sites[1].repeats[0]});
}

TEST_CASE("a share's throttle goes before that of the kernel") {
  RaisedText text(kGemm);
  CHECK(text.Share(0).throttle->in_flight == 2);
  CHECK(text.Share(1).throttle->in_flight == 3);
}

TEST_CASE("a loader that waits for what says what it copies looks ahead to the next iteration") {
  auto raised = [](const std::string& prefetch) {
    return RaisedText(R"(device @gemm(%w: f32[64, 64], %x: f32[64], %y: out f32[64]) tasks (m: 8) {
  impl sm_90a "gemm.cuh" Gemm<rows = 8> preloaded (%w);
  for (r: 8) %y[m * 8 + r] = sum(k: 64) %w[m * 8 + r, k] * %x[k];
}
device @pick(%x: f32[64], %used: out i32[1]) tasks (one: 1) { %used[0] = i32(%x[0]); }
device @chosen(%w: f32[64, 64], %used: i32[1] in 0..64, %y: out f32[64]) tasks (m: 8) {
  impl sm_90a "gemm.cuh" Chosen<rows = 8> preloaded (%w, %used);
  for (r: 8) %y[m * 8 + r] = %w[%used[0], m * 8 + r];
}
kernel @g(%w: f32[4, 64, 64], %cache: inout f32[64, 64], %a: f32[64], %c: out f32[64]) of @g static {
  launch consumers 8 shared 225280;
  %s = workspace f32[64] at 0;
  %t = workspace f32[64] at 256;
  %used = workspace i32[1] at 512;
  event %picked[4] count 1 via counter at 0;
  on sm {
    repeat l in 0..4 {
      share (m: 8) from 0 { run @gemm[m](%w[l], %a, %s); }
      share (m: 8) from 0 { run @gemm[m](%cache, %a, %t); }
      share (one: 1) from 0 { run @pick[one](%s, %used); leave { notify %picked[l]; } }
      share (m: 8) from 0 {
        loader in_flight 5 interval 0)" +
                      prefetch + R"(;
        enter { wait %picked[l]; }
        run @chosen[m](%w[l], %used, %t);
      }
      share (m: 8) from 0 {
        loader in_flight 5 interval 0)" +
                      prefetch + R"(;
        enter { wait %picked[l]; }
        run @chosen[m](%w[l], %used, %c);
      }
    }
  }
}
)");
  };
  RaisedText text = raised(" prefetch 1400");
  std::vector<ShareSite> sites = SharesOf(*text.module, text.Kernel().kernel);
  REQUIRE(sites.size() == 5);
  CHECK(text.Share(3).next == std::vector{sites[0].share});  // not what the launch writes
  for (size_t other : {0, 1, 2, 4}) {
    CHECK(text.Share(other).next.empty());
  }
  CHECK(raised("").Share(3).next.empty());
}

TEST_CASE("one object serves all tasks where nothing waits for each") {
  RaisedText text(kGemm);
  CHECK(text.Share(0).one_object);
  CHECK(!text.Share(1).one_object);
}

TEST_CASE("a barrier stands in front of the first task behind a wait, or for scratch memory") {
  auto entering = [](const std::string& waits, Arch arch) {
    return RaisedText(R"(device @f(%x: f32[8]) tasks (i: 8, j: i + 1) { local %s: f32[1]; }
device @h(%x: f32[8]) tasks (i: 8) { local %s: f32[1]; }
kernel @g(%a: f32[8]) of @g static {
  launch consumers 8 shared 225280;
  event %e count 36 via counter at 0;
  on sm {
    share (i: 8, j: i + 1) from 0 { run @f[i, j](%a); notify %e; }
    share (i: 8) from 0 { )" +
                          waits + R"( run @h[i](%a); }
  }
}
)",
                      arch);
  };
  CHECK(entering("enter { wait %e; }", Arch::Sm90a).Share(1).enters_together);
  CHECK(!entering("wait %e;", Arch::Sm90a).Share(1).enters_together);
  CHECK(entering("wait %e;", Arch::Host).Share(1).enters_together);
  RaisedText text = entering("", Arch::Sm90a);
  CHECK(!text.Share(0).prefetches);  // its tasks are a nest
  CHECK(text.Share(1).prefetches);
  CHECK(!entering("", Arch::Host).Share(1).prefetches);
}

TEST_CASE("arguments of implementations, extents and tiles are numbers") {
  RaisedText text(kGemm);
  const RaisedDevice& device = text.Kernel().devices[0];
  REQUIRE(device.impl != nullptr);
  REQUIRE(device.impl_args.size() == 1);
  CHECK(std::get<int64_t>(*device.impl_args[0]) == 8);
  const RaisedTensor& weights = text.Kernel().tensors.at(device.device.params[0]);
  CHECK(weights.extents == std::vector<std::optional<int64_t>>{64, 64});
  CHECK(weights.tile.empty());
}

TEST_CASE("constants of every kind, and extents that only the launch knows") {
  RaisedText text(R"(const rows = 16;
const wide = true;
const eps = 1e-6;
const huge = 1e300;
dim n in 1..8;
device @f(%x: f32[n, rows] layout tile(4, 8), %y: out f32[n]) tasks (i: n) { %y[i] = 1.0; }
kernel @g(%a: f32[n, 16] layout tile(4, 8), %b: out f32[n]) of @g static {
  launch consumers 8 shared 225280;
  on sm { share (i: n) from 0 { run @f[i](%a, %b); } }
}
)");
  const auto& constants = text.Kernel().constants;
  REQUIRE(constants.size() == 4);
  CHECK(std::get<int64_t>(constants[0].second) == 16);
  CHECK(std::get<bool>(constants[1].second));
  CHECK(!std::get<FloatConstant>(constants[2].second).wide);
  CHECK(std::get<FloatConstant>(constants[3].second).wide);
  const RaisedTensor& x = text.Kernel().tensors.at(text.Kernel().devices[0].device.params[0]);
  CHECK(x.extents == std::vector<std::optional<int64_t>>{std::nullopt, 16});
  CHECK(x.tile == std::vector<int64_t>{4, 8});
}

/// A kernel whose event counts what a tensor says.
std::string Routed(const std::string& checks) {
  return R"(device @f(%x: i32[4] in 0..4, %y: out i32[4]) tasks (i: 4) { %y[i] = %x[i]; }
device @h(%n: i32[4] in 0..5, %y: i32[4], %z: out i32[4]) tasks (e: 4) { %z[e] = %y[%n[e] % 4]; }
kernel @g(%a: i32[4] in 0..4, %n: i32[4] in 0..5, %c: out i32[4]) of @g static {
  launch consumers 8 shared 225280;
  )" + checks +
         R"(
  %s = workspace i32[4] at 0;
  event %routed[e: 4] count %n[e] via counter at 0;
  event %done count 4 via counter at 4;
  on sm {
    share (i: 4) from 0 {
      run @f[i](%a, %s);
      notify %routed[%a[i]];
      leave { notify %done; }
    }
    share (e: 4) from 0 { enter { wait %done; } wait %routed[e]; run @h[e](%n, %s, %c); }
  }
}
)";
}

TEST_CASE("the thread that waited reads the tensors of a signal") {
  RaisedText text(Routed(""));
  CHECK(text.Share(0).notifies[0].one_thread);
  CHECK(!text.Share(0).leave_notifies[0].one_thread);
  CHECK(text.Share(1).waits[0].one_thread);  // its count
  CHECK(!text.Share(1).enter_waits[0].one_thread);
}

TEST_CASE("with checks, elements that data decide are held against the event") {
  CHECK(!RaisedText(Routed("")).Share(0).notifies[0].checked);
  RaisedText text(Routed("check accesses;"));
  CHECK(text.Share(0).notifies[0].checked);
  CHECK(text.Share(1).waits[0].checked);
  CHECK(!text.Share(0).leave_notifies[0].checked);
  CHECK(text.Says("    %routed[e] by the thread that waited, checked"));
}

TEST_CASE("indices that depend on data") {
  CHECK(RaisedText(Routed("")).Kernel().devices[1].from_data.empty());
  RaisedText text(Routed("check accesses;"));
  CHECK(text.Kernel().devices[0].from_data.empty());
  CHECK(text.Says("  @h checks: `%n[e] % 4`"));
}

TEST_CASE("what is computed from data depends on data") {
  auto checked = [](const std::string& body) {
    RaisedText text(R"(device @f(%x: i32[4], %y: out i32[4]) tasks (i: 4) { )" + body + R"( }
kernel @g(%a: i32[4], %b: out i32[4]) of @g static {
  launch consumers 8 shared 225280;
  check accesses;
  on sm { share (i: 4) from 0 { run @f[i](%a, %b); } }
}
)");
    return text.Kernel().devices[0].from_data.size();
  };
  CHECK(checked("%y[i] = %x[3 - i];") == 0);
  CHECK(checked("let k = %x[i]; let m = k + 1; %y[m] = 1;") == 1);
  CHECK(checked("for (k: %x[0]) %y[k] = 1;") == 1);
  CHECK(checked("let (v, k) = argmax(j: 4) %x[j]; %y[k] = v;") == 1);
  CHECK(checked("%y[i] = sum(j: %x[i]) %x[j];") == 1);
}

TEST_CASE("a loader may wait at its own place for what it fetches, also for launches in front") {
  auto text = [](const std::string& kernel) {
    return R"(device @f(%w: f32[8, 64], %x: f32[64], %y: out f32[8]) tasks (i: 8) {
  impl sm_90a "f.cuh" F preloaded (%w) fetched (%x);
  %y[i] = sum(k: 64) %w[i, k] * %x[k];
}
device @copy(%x: f32[64], %y: out f32[64]) tasks (i: 64) { %y[i] = %x[i]; }
kernel @g(%w: f32[8, 64], %a: f32[64], %c: out f32[8]) of @g )" +
           kernel + "}\n";
  };
  auto loader = [](const RaisedShare& share) {
    return share.roles[static_cast<size_t>(Role::Loader)];
  };
  const std::string launches = text(R"(kernels {
  launch consumers 8 shared 225280;
  %s = workspace f32[64] at 0;
  on stream { launch (i: 64) run @copy[i](%a, %s); launch (i: 8) run @f[i](%w, %s, %c); }
)");
  CHECK(RaisedText(launches).Share(1).hands_loads);
  CHECK_FALSE(loader(RaisedText(launches).Share(1)).waits_first);
  CHECK_FALSE(RaisedText(launches).Share(0).hands_loads);
  CHECK_FALSE(RaisedText(launches, Arch::Host).Share(1).hands_loads);
  const std::string shares = text(R"(static {
  launch consumers 8 shared 225280;
  %s = workspace f32[64] at 0;
  event %s_done count 64 via counter at 0;
  on sm {
    share (i: 64) from 0 { run @copy[i](%a, %s); leave { notify %s_done; } }
    share (i: 8) from 0 { enter { wait %s_done; } run @f[i](%w, %s, %c); }
    share (i: 8) from 0 { run @f[i](%w, %a, %c); }
  }
)");
  CHECK(RaisedText(shares).Share(1).hands_loads);
  CHECK_FALSE(RaisedText(shares).Share(2).hands_loads);
}

}  // namespace
}  // namespace etc
