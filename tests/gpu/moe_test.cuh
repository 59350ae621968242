// Route, ExpertGateUp and ExpertDown behind each other, as a mixture of experts has them: the
// loader reads behind a wait which experts are used. Or ChosenGateUp in the place of the first two.
#pragma once

#include <set>

#include "host_choice.cuh"
#include "support.cuh"
#include "tile/moe/expert_down.cuh"
#include "tile/moe/expert_gate_up.cuh"
#include "tile/moe/route.cuh"

namespace etc::test {

template <int most_rows>
struct MoeSizes {
  static constexpr int kMostRows = most_rows, kExperts = 40, kTop = 3, kPlaces = kMostRows * kTop;
  static constexpr int kDepth = 512, kInner = 768, kOutputs = 64;
};

/// With one row, each SM chooses the experts itself.
template <int most_rows>
struct MoeProgram : MoeSizes<most_rows> {
  using Sizes = MoeSizes<most_rows>;
  using Sizes::kDepth, Sizes::kExperts, Sizes::kInner, Sizes::kMostRows, Sizes::kOutputs;
  using Sizes::kPlaces, Sizes::kTop;
  static constexpr bool kChosen = kMostRows == 1;

  struct RouteConfig {
    static constexpr i64 top = kTop, own = kExperts, max_batch = kMostRows;
    static constexpr bool renormalise = true;
  };
  struct RouteArgs {
    const float* logits;
    i64 logits_0;
    static constexpr i64 logits_1 = kExperts;
    i32* used;
    static constexpr i64 used_0 = kPlaces;
    i32* n_used;
    float* weight;
  };
  struct GemmConfig {
    static constexpr i64 rows = 16, max_batch = kMostRows, top = kTop, own = kExperts;
    static constexpr bool norm = true, renormalise = true;
    static constexpr float eps = 1e-6f;
  };
  struct DownConfig {
    static constexpr i64 rows = 16, max_batch = kMostRows;
  };
  struct UpArgs {
    const bf16* x;
    i64 x_0;
    static constexpr i64 x_1 = kDepth;
    const bf16* norm;
    const float* logits;
    i64 logits_0;
    static constexpr i64 logits_1 = kExperts;
    i32* used;
    static constexpr i64 used_0 = kPlaces;
    i32* n_used;
    const float* weight;
    static constexpr i64 weight_1 = kPlaces;
    const bf16* w_gate;
    static constexpr i64 w_gate_1 = kInner, w_gate_tile_0 = 8, w_gate_tile_1 = 32;
    const bf16* w_up;
    static constexpr i64 w_up_tile_0 = 8, w_up_tile_1 = 32;
    bf16* y;
  };
  struct DownArgs {
    const bf16* x;
    i64 x_1;
    static constexpr i64 x_2 = kInner;
    const i32* used;
    static constexpr i64 used_0 = kPlaces;
    const i32* n_used;
    const bf16* w;
    static constexpr i64 w_1 = kOutputs, w_tile_0 = 8, w_tile_1 = 32;
    const bf16* residual;
    bf16* y;
  };
  using Routing = Route<RouteConfig, RouteArgs>;
  using Up = typename Choose<kChosen, ChosenGateUp<GemmConfig, UpArgs>,
                             ExpertGateUp<GemmConfig, UpArgs>>::type;
  using Down = ExpertDown<DownConfig, DownArgs>;
  static constexpr int kSlotBytes =
      Up::kSlotBytes > Down::kSlotBytes ? Up::kSlotBytes : Down::kSlotBytes;
  static constexpr int kScratchBytes = Routing::kScratchBytes;
  static constexpr int kPartialsBytes =
      Up::Reduction::kPartialsBytes > Down::Reduction::kPartialsBytes
          ? Up::Reduction::kPartialsBytes
          : Down::Reduction::kPartialsBytes;
  static constexpr int kBlocks = kInner / 8, kUpTasks = kPlaces * kBlocks;
  static constexpr int kDownTasks = kOutputs / 16;

  RouteArgs route;
  UpArgs up;
  DownArgs down;
  u32* routed;  // how many launches have their list of experts: what the loader waits for
  u32 launch;

  ETC_DEVICE void AwaitList(Loader& loader) const {
    if (loader.lane == 0) {
      while (LoadAcquire(routed) < launch) {
        PollAgain();
      }
    }
    loader.Sync();
  }
  ETC_DEVICE void Load(Loader& loader) const {
    if constexpr (!kChosen) {
      AwaitList(loader);
    }
    if (HasTask(kUpTasks, 1)) {
      typename Up::Source source(loader, up);
      Share(kUpTasks, 1, [&](int t) { source.Load(loader, up, t / kBlocks, t % kBlocks); });
    }
    if (HasTask(kDownTasks, 1 + kUpTasks)) {
      AwaitList(loader);
      typename Down::Source source(loader, down);
      Share(kDownTasks, 1 + kUpTasks, [&](int m) { source.Load(loader, down, m); });
    }
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    Share(kChosen ? 0 : 1, 0, [&](int) {
      Routing op(consumer, route);
      op.Run(consumer, route, 0);
      events.Notify(consumer, 0, 1);
      if (consumer.thread == 0) {
        AddRelease(routed, 1);
      }
    });
    if (HasTask(kUpTasks, 1)) {
      if constexpr (!kChosen) {
        events.Wait(consumer, 0, 1);
      }
      Up op(consumer, up);
      Share(kUpTasks, 1, [&](int t) { op.Run(consumer, up, t / kBlocks, t % kBlocks); });
    }
    if (HasTask(kDownTasks, 1 + kUpTasks)) {
      events.Wait(consumer, 1, kUpTasks);
      Down op(consumer, down);
      Share(kDownTasks, 1 + kUpTasks, [&](int m) { op.Run(consumer, down, m); });
    }
  }
  ETC_DEVICE void Reduce(EpilogueWarp& epilogue_warp, const Events& events) const {
    if (HasTask(kUpTasks, 1)) {
      typename Up::Reduction reduction(epilogue_warp, up);
      Share(kUpTasks, 1, [&](int t) {
        reduction.Run(epilogue_warp, up, t / kBlocks, t % kBlocks);
        events.Notify(epilogue_warp, 1, 1);
        if (kChosen && t == 0 && epilogue_warp.lane == 0) {
          AddRelease(routed, 1);
        }
      });
    }
    if (HasTask(kDownTasks, 1 + kUpTasks)) {
      typename Down::Reduction reduction(epilogue_warp, down);
      Share(kDownTasks, 1 + kUpTasks, [&](int m) { reduction.Run(epilogue_warp, down, m); });
    }
  }
};

/// Matrices [count, rows, columns] in tiles of 8 x 32.
inline std::vector<bf16> InTilesOf8x32(const std::vector<bf16>& plain, int rows, int columns) {
  std::vector<bf16> tiled(plain.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    size_t matrix = i / (size_t(rows) * columns) * rows * columns;
    int row = int(i / columns % rows), column = int(i % columns);
    tiled[matrix + (size_t(row / 8) * (columns / 32) + column / 32) * 256 + row % 8 * 32 +
          column % 32] = plain[i];
  }
  return tiled;
}

template <int most_rows>
void TestMoeOf(int rows, Report& report) {
  using P = MoeProgram<most_rows>;
  Random random(uint64_t(40 + rows));
  std::vector<float> logits(size_t(rows) * P::kExperts);
  for (float& value : logits) {
    value = float(random.Bits() % 9);  // many are equal
  }
  std::vector<bf16> x = random.Bf16(size_t(rows) * P::kDepth, 1.0f);
  std::vector<bf16> norm = random.Bf16(P::kDepth, 0.3f, 1.0f);
  std::vector<bf16> gate = random.Bf16(size_t(P::kExperts) * P::kInner * P::kDepth, 0.1f);
  std::vector<bf16> up = random.Bf16(gate.size(), 0.1f);
  std::vector<bf16> down = random.Bf16(size_t(P::kExperts) * P::kOutputs * P::kInner, 0.05f);
  std::vector<bf16> residual = random.Bf16(size_t(rows) * P::kOutputs, 1.0f);

  std::set<int> all;
  std::vector<std::vector<double>> weights(rows, std::vector<double>(P::kExperts, 0.0));
  for (int b = 0; b < rows; ++b) {
    HostChoice choice = ChooseOnHost(&logits[size_t(b) * P::kExperts], P::kExperts, P::kTop);
    for (int s = 0; s < P::kTop; ++s) {
      weights[b][choice.experts[s]] = choice.weights[s];
      all.insert(choice.experts[s]);
    }
  }
  std::vector<i32> used(all.begin(), all.end());
  used.resize(P::kPlaces, 0);
  std::vector<double> expected(residual.size());
  ParallelFor(rows, [&](int b) {
    double squares = 0;
    std::vector<double> normed(P::kDepth);
    for (int k = 0; k < P::kDepth; ++k) {
      double value = HostFloat(x[size_t(b) * P::kDepth + k]);
      squares += value * value;
      normed[k] = Rounded(value * HostFloat(norm[k]));
    }
    double scale = 1 / std::sqrt(squares / P::kDepth + 1e-6);
    for (int n = 0; n < P::kOutputs; ++n) {
      expected[size_t(b) * P::kOutputs + n] = HostFloat(residual[size_t(b) * P::kOutputs + n]);
    }
    for (int e : all) {
      for (int f = 0; weights[b][e] > 0 && f < P::kInner; ++f) {
        double sums[2] = {};
        for (int k = 0; k < P::kDepth; ++k) {
          size_t at = (size_t(e) * P::kInner + f) * P::kDepth + k;
          sums[0] += normed[k] * HostFloat(gate[at]);
          sums[1] += normed[k] * HostFloat(up[at]);
        }
        double g = sums[0] * scale;
        double act = Rounded(weights[b][e] * g / (1 + std::exp(-g)) * sums[1] * scale);
        for (int n = 0; n < P::kOutputs; ++n) {
          expected[size_t(b) * P::kOutputs + n] +=
              act * HostFloat(down[(size_t(e) * P::kOutputs + n) * P::kInner + f]);
        }
      }
    }
  });

  Buffer<float> d_logits(logits), d_weight(size_t(rows) * P::kPlaces);
  Buffer<i32> d_used(P::kPlaces), d_number(1);
  Buffer<bf16> d_x(x), d_norm(norm), d_gate(InTilesOf8x32(gate, P::kInner, P::kDepth));
  Buffer<bf16> d_up(InTilesOf8x32(up, P::kInner, P::kDepth));
  Buffer<bf16> d_down(InTilesOf8x32(down, P::kOutputs, P::kInner)), d_residual(residual);
  Buffer<bf16> act(size_t(P::kPlaces) * rows * P::kInner), y(residual.size());
  Buffer<u32> routed(1);
  routed.Fill(0);
  Launcher<P> launcher;
  std::vector<bf16> first;
  int different = 0;
  for (int launch = 1; launch <= kLaunches; ++launch) {
    d_used.Fill(0xff);
    y.Fill(0xff);
    P program;
    program.route = {d_logits.data(), rows, d_used.data(), d_number.data(), d_weight.data()};
    program.up = {d_x.data(),    rows,          d_norm.data(),   d_logits.data(),
                  rows,          d_used.data(), d_number.data(), d_weight.data(),
                  d_gate.data(), d_up.data(),   act.data()};
    program.down = {act.data(),        rows,    d_used.data(), d_number.data(), d_down.data(),
                    d_residual.data(), y.data()};
    program.routed = routed.data();
    program.launch = u32(launch);
    launcher.Launch(program);
    if (launch == 1) {
      first = y.Read();
    }
    different += !SameBits(y.Read(), first) || !SameBits(d_used.Read(), used) ||
                 d_number.Read()[0] != i32(all.size());
  }
  std::string name =
      "experts, " + std::to_string(rows) + " rows of at most " + std::to_string(most_rows);
  report.Check(different == 0, name + ": " + std::to_string(different) + " launches wrong");
  report.CheckClose(first, expected, expected.size(), 0.01, 0.01 * RootMeanSquare(expected), name);
}

inline void TestMoe(Report& report) {
  for (int rows : {1, 3, 4}) {
    TestMoeOf<4>(rows, report);
  }
  TestMoeOf<1>(1, report);
}

}  // namespace etc::test
