// TokenTiles, ChooseExperts, ListExperts, ListedGateUp, ListedDown and CombineExperts behind each
// other, as a mixture of experts of many tokens has them.
#pragma once

#include "gemm_test.cuh"
#include "host_choice.cuh"
#include "moe_test.cuh"
#include "tile/moe/choose_experts.cuh"
#include "tile/moe/combine_experts.cuh"
#include "tile/moe/list_experts.cuh"
#include "tile/moe/listed_experts.cuh"
#include "tile/moe/token_tiles.cuh"

namespace etc::test {

template <int slots>
struct MoeListsSizes {
  static constexpr int kMostRows = 160, kExperts = 16, kTop = 2, kSlots = slots;
  static constexpr int kPlaces = kExperts + kMostRows * kTop / kSlots;
  static constexpr int kDepth = 256, kInner = 768, kOutputs = 128;
};

template <int slots, int weight_rows>
struct MoeListsProgram : MoeListsSizes<slots> {
  using S = MoeListsSizes<slots>;
  static constexpr int kMostRows = S::kMostRows, kExperts = S::kExperts, kTop = S::kTop;
  static constexpr int kSlots = S::kSlots, kPlaces = S::kPlaces;
  static constexpr int kDepth = S::kDepth, kInner = S::kInner, kOutputs = S::kOutputs;
  struct TilesConfig {
    static constexpr i64 rows = 64, max_batch = 128;
  };
  struct TilesArgs {
    const bf16* x;
    i64 x_0;
    static constexpr i64 x_1 = kDepth;
    const bf16* w;
    static constexpr i64 w_tile_0 = 8, w_tile_1 = 32;
    static constexpr bool w_swizzle = true;
    float* y;
    static constexpr i64 y_2 = kExperts;
  };
  struct ChooseConfig {
    static constexpr i64 top = kTop;
    static constexpr bool renormalise = true;
  };
  struct ChooseArgs {
    const float* partials;
    static constexpr i64 partials_0 = 1, partials_2 = kExperts;
    i64 partials_1;
    i32* chosen;
    float* weight;
  };
  struct ListConfig {
    static constexpr i64 experts = kExperts, own = kExperts, max_batch = kMostRows;
  };
  struct ListArgs {
    const i32* chosen;
    i64 chosen_0;
    static constexpr i64 chosen_1 = kTop;
    i32* used;
    static constexpr i64 used_0 = kPlaces;
    i32* n_used;
    i32* count;
    i32* token;
    static constexpr i64 token_0 = kPlaces * kSlots;
    i32* slot;
  };
  struct GemmConfig {
    static constexpr i64 rows = weight_rows, max_batch = kSlots;
  };
  struct UpArgs {
    const bf16* x;
    static constexpr i64 x_1 = kDepth;
    const i32* used;
    static constexpr i64 used_0 = kPlaces;
    const i32* n_used;
    const i32* count;
    const i32* token;
    static constexpr i64 token_0 = kPlaces * kSlots;
    const bf16* w_gate;
    static constexpr i64 w_gate_1 = kInner, w_gate_tile_0 = 8, w_gate_tile_1 = 32;
    static constexpr bool w_gate_swizzle = true;
    const bf16* w_up;
    static constexpr i64 w_up_tile_0 = 8, w_up_tile_1 = 32;
    static constexpr bool w_up_swizzle = true;
    bf16* y;
  };
  struct DownArgs {
    const bf16* x;
    static constexpr i64 x_1 = kInner;
    const i32* used;
    static constexpr i64 used_0 = kPlaces;
    const i32* n_used;
    const i32* count;
    const bf16* w;
    static constexpr i64 w_1 = kOutputs, w_tile_0 = 8, w_tile_1 = 32;
    static constexpr bool w_swizzle = true;
    float* y;
    static constexpr i64 y_0 = kPlaces * kSlots;
  };
  struct CombineConfig {
    static constexpr i64 columns = 64;
  };
  struct CombineArgs {
    const float* z;
    static constexpr i64 z_1 = kOutputs;
    const i32* slot;
    static constexpr i64 slot_1 = kTop;
    const float* weight;
    const bf16* residual;
    bf16* y;
  };
  using Tiles = TokenTiles<TilesConfig, TilesArgs>;
  using Choose = ChooseExperts<ChooseConfig, ChooseArgs>;
  using List = ListExperts<ListConfig, ListArgs>;
  using Up = ListedGateUp<GemmConfig, UpArgs>;
  using Down = ListedDown<GemmConfig, DownArgs>;
  using Combine = CombineExperts<CombineConfig, CombineArgs>;
  static constexpr int kSlotBytes = Up::kSlotBytes;
  static_assert(Tiles::kSlotBytes <= kSlotBytes && Down::kSlotBytes <= kSlotBytes);
  static constexpr int kScratchBytes =
      std::max({Tiles::kScratchBytes, Choose::kScratchBytes, List::kScratchBytes, Up::kScratchBytes,
                Down::kScratchBytes});
  static constexpr int kUpBlocks = DivideUp(kInner, weight_rows / 2),
                       kDownBlocks = DivideUp(kOutputs, weight_rows), kPieces = kOutputs / 64;
  static constexpr int kUpTasks = kPlaces * kUpBlocks, kDownTasks = kPlaces * kDownBlocks;

  TilesArgs tiles;
  ChooseArgs choose;
  ListArgs list;
  UpArgs up;
  DownArgs down;
  CombineArgs combine;
  u32* listed;  // how many launches have: what the loader waits for
  u32 launch;

  ETC_DEVICE int TokenTasks() const { return DivideUp(int(tiles.x_0), 128); }
  ETC_DEVICE void Load(Loader& loader) const {
    Share(TokenTasks(), 0, [&](int t) { Tiles::Load(loader, tiles, t, 0); });
    if (loader.lane == 0) {
      while (LoadAcquire(listed) < launch) {
        PollAgain();
      }
    }
    loader.Sync();
    if (HasTask(kUpTasks, 1)) {
      typename Up::Source source(loader, up);
      Share(kUpTasks, 1, [&](int t) { source.Load(loader, up, t / kUpBlocks, t % kUpBlocks); });
    }
    if (HasTask(kDownTasks, 2)) {
      typename Down::Source source(loader, down);
      Share(kDownTasks, 2,
            [&](int t) { source.Load(loader, down, t / kDownBlocks, t % kDownBlocks); });
    }
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    int rows = int(tiles.x_0);
    Each<Tiles>(
        consumer, events, tiles, TokenTasks(), 0, -1, 0,
        [](Tiles& op, Consumer& c, const TilesArgs& args, int t) { op.Run(c, args, t, 0); });
    Each<Choose>(
        consumer, events, choose, rows, 3, 0, TokenTasks(),
        [](Choose& op, Consumer& c, const ChooseArgs& args, int t) { op.Run(c, args, t); });
    Share(1, 0, [&](int) {
      events.Wait(consumer, 1, rows);
      consumer.Sync();
      List op(consumer, list);
      op.Run(consumer, list, 0);
      events.Notify(consumer, 2, 1);
      if (consumer.thread == 0) {
        AddRelease(listed, 1);
      }
    });
    Each<Up>(consumer, events, up, kUpTasks, 1, 2, 1,
             [](Up& op, Consumer& c, const UpArgs& args, int t) {
               op.Run(c, args, t / kUpBlocks, t % kUpBlocks);
             });
    Each<Down>(consumer, events, down, kDownTasks, 2, 3, kUpTasks,
               [](Down& op, Consumer& c, const DownArgs& args, int t) {
                 op.Run(c, args, t / kDownBlocks, t % kDownBlocks);
               });
    Each<Combine>(consumer, events, combine, rows * kPieces, 5, 4, kDownTasks,
                  [](Combine& op, Consumer& c, const CombineArgs& args, int t) {
                    op.Run(c, args, t / kPieces, t % kPieces);
                  });
  }

 private:
  /// A share that waits for all tasks of the one before, whose event is `before`, and notifies the
  /// next.
  template <class Op, class Args, class Body>
  static ETC_DEVICE void Each(Consumer& consumer, const Events& events, const Args& args, int tasks,
                              int first, int before, int count, Body body) {
    if (HasTask(tasks, first)) {
      if (before >= 0) {
        events.Wait(consumer, before, count);
      }
      consumer.Sync();
      Op op(consumer, args);
      Share(tasks, first, [&](int t) {
        body(op, consumer, args, t);
        events.Notify(consumer, before + 1, 1);
      });
    }
  }
};

/// The lists, as the host makes them of what was chosen.
template <class P>
struct HostLists {
  std::vector<i32> used, count, token, slot;
  i32 number = 0;

  HostLists(const std::vector<i32>& chosen, int rows) {
    used.resize(P::kPlaces, 0), count.resize(P::kPlaces, 0);
    token.resize(size_t(P::kPlaces) * P::kSlots, 0), slot.resize(size_t(rows) * P::kTop);
    for (int e = 0; e < P::kExperts; ++e) {
      int taken = 0;
      for (int i = 0; i < rows * P::kTop; ++i) {
        if (chosen[i] == e) {
          slot[i] = number * P::kSlots + taken;
          used[slot[i] / P::kSlots] = e;
          ++count[slot[i] / P::kSlots];
          token[slot[i]] = i / P::kTop;
          ++taken;
        }
      }
      number += DivideUp(taken, P::kSlots);
    }
  }
};

template <class P>
void TestMoeListsOf(int rows, bool skewed, Report& report) {
  Random random(uint64_t(70 + rows));
  std::vector<bf16> x = random.Bf16(size_t(rows) * P::kDepth, 1.0f, skewed ? 1.0f : 0.0f);
  std::vector<bf16> router = random.Bf16(size_t(P::kExperts) * P::kDepth, 0.1f);
  if (skewed) {
    for (int k = 0; k < 2 * P::kDepth; ++k) {
      router[size_t(3) * P::kDepth + k] = HostBf16(0.5f);  // two experts get all tokens
    }
  }
  std::vector<bf16> gate = random.Bf16(size_t(P::kExperts) * P::kInner * P::kDepth, 0.1f);
  std::vector<bf16> up = random.Bf16(gate.size(), 0.1f);
  std::vector<bf16> down = random.Bf16(size_t(P::kExperts) * P::kOutputs * P::kInner, 0.05f);
  std::vector<bf16> residual = random.Bf16(size_t(rows) * P::kOutputs, 1.0f);
  auto stored = [](const std::vector<bf16>& matrix, int columns) {
    return Stored(matrix, columns, Order::kSwizzled);
  };
  Buffer<bf16> d_x(x), d_router(stored(router, P::kDepth)), d_gate(stored(gate, P::kDepth));
  Buffer<bf16> d_up(stored(up, P::kDepth)), d_down(stored(down, P::kInner)), d_residual(residual);
  constexpr size_t slots = size_t(P::kPlaces) * P::kSlots;
  Buffer<float> scores(size_t(rows) * P::kExperts), weight(size_t(rows) * P::kTop);
  Buffer<float> z(slots * P::kOutputs);
  Buffer<i32> chosen(size_t(rows) * P::kTop), used(P::kPlaces), number(1), count(P::kPlaces);
  Buffer<i32> token(slots), slot(size_t(rows) * P::kTop);
  Buffer<bf16> act(slots * P::kInner), y(residual.size());
  Buffer<u32> listed(1);
  listed.Fill(0);
  Launcher<P> launcher;
  std::vector<bf16> first;
  int different = 0;
  for (int launch = 1; launch <= kLaunches; ++launch) {
    y.Fill(0xff), token.Fill(0xff), used.Fill(0xff), count.Fill(0xff);
    P program;
    program.tiles = {d_x.data(), rows, d_router.data(), scores.data()};
    program.choose = {scores.data(), rows, chosen.data(), weight.data()};
    program.list = {chosen.data(), rows,         used.data(), number.data(),
                    count.data(),  token.data(), slot.data()};
    program.up = {d_x.data(),   used.data(),   number.data(), count.data(),
                  token.data(), d_gate.data(), d_up.data(),   act.data()};
    program.down = {act.data(), used.data(), number.data(), count.data(), d_down.data(), z.data()};
    program.combine = {z.data(), slot.data(), weight.data(), d_residual.data(), y.data()};
    program.listed = listed.data();
    program.launch = u32(launch);
    launcher.Launch(program);
    if (launch == 1) {
      first = y.Read();
    }
    different += !SameBits(y.Read(), first);
  }
  std::string name = "experts in " + std::to_string(P::kSlots) + " slots, " + std::to_string(rows) +
                     (skewed ? " rows, skewed" : " rows");
  report.Check(different == 0, name + ": " + std::to_string(different) + " launches differ");

  std::vector<double> logits(size_t(rows) * P::kExperts);
  for (size_t i = 0; i < logits.size(); ++i) {
    for (int k = 0; k < P::kDepth; ++k) {
      logits[i] += HostFloat(x[i / P::kExperts * P::kDepth + k]) *
                   HostFloat(router[i % P::kExperts * P::kDepth + k]);
    }
  }
  std::vector<float> found = scores.Read();
  report.CheckClose(found, logits, logits.size(), 1e-4, 1e-4, name + ", logits");
  // Of the logits that the device found, whose rounding may decide.
  std::vector<i32> best(size_t(rows) * P::kTop);
  std::vector<double> weights(best.size()), expected(residual.size());
  for (int b = 0; b < rows; ++b) {
    HostChoice choice = ChooseOnHost(&found[size_t(b) * P::kExperts], P::kExperts, P::kTop);
    for (int s = 0; s < P::kTop; ++s) {
      best[size_t(b) * P::kTop + s] = choice.experts[s];
      weights[size_t(b) * P::kTop + s] = choice.weights[s];
    }
  }
  HostLists<P> lists(best, rows);
  report.Check(SameBits(chosen.Read(), best), name + ": what is chosen");
  report.CheckClose(weight.Read(), weights, weights.size(), 1e-5, 1e-6, name + ", weights");
  report.Check(SameBits(used.Read(), lists.used) && SameBits(count.Read(), lists.count) &&
                   SameBits(token.Read(), lists.token) && SameBits(slot.Read(), lists.slot) &&
                   number.Read()[0] == lists.number,
               name + ": the lists");
  ParallelFor(rows, [&](int b) {
    double* out = &expected[size_t(b) * P::kOutputs];
    for (int n = 0; n < P::kOutputs; ++n) {
      out[n] = HostFloat(residual[size_t(b) * P::kOutputs + n]);
    }
    for (int s = 0; s < P::kTop; ++s) {
      size_t e = size_t(best[size_t(b) * P::kTop + s]);
      for (int f = 0; f < P::kInner; ++f) {
        double sums[2] = {};
        for (int k = 0; k < P::kDepth; ++k) {
          size_t at = (e * P::kInner + f) * P::kDepth + k;
          sums[0] += HostFloat(x[size_t(b) * P::kDepth + k]) * HostFloat(gate[at]);
          sums[1] += HostFloat(x[size_t(b) * P::kDepth + k]) * HostFloat(up[at]);
        }
        double inner = Rounded(sums[0] / (1 + std::exp(-sums[0])) * sums[1]);
        for (int n = 0; n < P::kOutputs; ++n) {
          out[n] += weights[size_t(b) * P::kTop + s] * inner *
                    HostFloat(down[(e * P::kOutputs + n) * P::kInner + f]);
        }
      }
    }
  });
  report.CheckClose(first, expected, expected.size(), 0.01, 0.01 * RootMeanSquare(expected), name);
}

inline void TestMoeLists(Report& report) {
  TestMoeListsOf<MoeListsProgram<16, 64>>(9, false, report);
  TestMoeListsOf<MoeListsProgram<16, 64>>(150, false, report);
  // Two experts have all rows: one place of each with all of its slots, and one with few.
  TestMoeListsOf<MoeListsProgram<32, 64>>(33, true, report);
  TestMoeListsOf<MoeListsProgram<64, 128>>(71, true, report);
  TestMoeListsOf<MoeListsProgram<128, 256>>(150, true, report);
}

}  // namespace etc::test
