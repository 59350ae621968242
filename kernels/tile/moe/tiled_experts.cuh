// The two GEMMs of the experts for lists of many tokens, as ListMarked makes them: gate and up of
// the tokens of each place, wherever their rows stand in x, and down of a place's slots.
//
//   task (u, m)        a tile: the up to 128 tokens of place u by `rows` weight rows of its expert
//   box of weights     [rows, 64] in tiles, or [rows / 2, 64] of gate and of up: a slot of the ring
//   tokens' rows       staged by the consumers (gathered_rows.cuh), 64 for each warpgroup
//   MMA                wgmma m64nNk16, N = rows; a thread has rows / 2 sums
//   places             those from n_used on have none, and their tasks do nothing; of a place with
//                      up to 64 tokens the second warpgroup multiplies nothing
//
// Each warp stores its own rows by way of scratch. The warpgroups wait for nothing of each other
// but slots, and drift apart until one multiplies while the other stores.
//
// Config: rows, a multiple of 8 (of 16 for gate and up) from 64 to 256. Args of TiledGateUp: x
// [B, K], used [P], n_used [1], count [P], token [P * 128], w_gate and w_up [E, F, K] in tiles,
// with boxes, y bf16 [P * 128, F]. Of TiledDown: x [P * 128, K], used, n_used, count, w [E, N, K]
// in tiles, with boxes, y bf16 [P * 128, N]. K is a multiple of 32.
#pragma once

#include "arch/sm90/launch.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/epilogues.cuh"
#include "tile/gemm/ring_products.cuh"
#include "tile/gemm/staged_rows.cuh"
#include "tile/gemm/tile_boxes.cuh"
#include "tile/gemm/weights.cuh"
#include "tile/moe/gathered_rows.cuh"
#include "tile/moe/listed_rows.cuh"
#include "tile/moe/used_experts.cuh"

namespace etc {

/// Both of them; View<Args> is what one place looks like, and where its rows are.
template <class Args, class View>
class TiledExperts {
  using X = GatheredRows<View::kDepth>;
  using Rows = typename X::Rows;
  using Staged = StagedRows<View::kTaskOutputs, View::kOutputs, 1>;
  static constexpr int kRows = View::kRows;
  static constexpr int kTasks = DivideUp(View::kOutputs, View::kTaskOutputs);  // of a place
  static_assert(View::kSlots == 2 * X::kGroupRows, "a place has 128 slots");
  static_assert(kRows % 8 == 0 && kRows >= 64 && kRows <= 256, "`rows` is from 64 to 256");
  static_assert(View::kDepth % kTileColumns == 0, "k is a multiple of 32");
  static_assert(Consumer::kWarps == 8, "the consumers are two warpgroups");

 public:
  static constexpr int kSlotBytes = kRows * X::kStep * 2;
  static constexpr int kScratchBytes = X::kScratchBytes + Staged::kScratchBytes;

  static ETC_DEVICE void Load(Loader& loader, const View& view, int m) {
#pragma unroll 1
    for (int step = 0; step < X::kSteps; ++step) {
      u32 slot = loader.Acquire();
      loader.Expect(kSlotBytes);
      view.Copy(slot, m, step * X::kStep, loader.ring.Full());
      loader.Advance();
    }
  }

  using Source = PlaceSource<TiledExperts, View, Args>;

  ETC_DEVICE TiledExperts(Consumer& consumer, const Args& args)
      : x_(consumer, args.x), number_(TakeNumberOfExperts(consumer)) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int u, int m) {
    if (u >= number_) {
      return;
    }
    // What is fetched ahead is of the task that the share most likely has next.
    if (!X::kLooksAhead || fetched_ != u) {
      x_.Begin(RowsOf(args, u));
    }
    int rows = x_.Number();
    fetched_ = (u * kTasks + m + int(GridSize())) / kTasks;
    x_.SetNext(RowsOf(args, fetched_));
    if (rows <= x_.group * X::kGroupRows) {
      PassBy(consumer);
      return;
    }
    // Zeros, or the compiler would keep the task before's.
    float sums[kRows / 2] = {};
    MultiplyTileBoxes<kRows>(consumer, X::kSteps, x_, sums, [&] { x_.Advance(); });
    float outputs[View::kTaskOutputs / 2];
#pragma unroll
    for (int i = 0; i < View::kTaskOutputs / 2; ++i) {
      outputs[i] = View::Output(sums, i);
    }
    Staged::Store(consumer, SharedAddress(consumer.scratch) + X::kScratchBytes,
                  View::PlaceOf(args, u, m, rows),
                  x_.group * X::kGroupRows + consumer.warp % 4 * 16, outputs);
  }

 private:
  X x_;
  int number_;
  int fetched_ = -1;  // the place whose rows are fetched ahead

  /// A task of which this warpgroup has no rows.
  ETC_DEVICE void PassBy(Consumer& consumer) {
#pragma unroll 1
    for (int step = 0; step < X::kSteps; ++step) {
      consumer.WaitAddress();
      GiveBack(consumer, consumer.ring);
      x_.Advance();
    }
  }

  ETC_DEVICE Rows RowsOf(const Args& args, int u) const {
    return LoadRowsOfPlace<View>(args, x_, u, u < number_);
  }
};

template <class Config, class Args>
struct TiledGateUpView : RowsOfTokens {
  static constexpr int kSlots = int(Args::token_0) / int(Args::used_0);
  static constexpr int kDepth = int(Args::x_1), kOutputs = int(Args::w_gate_1);
  static constexpr int kRows = int(Config::rows), kTaskOutputs = kRows / 2;
  static_assert(kRows % 16 == 0, "half of the rows are whole tiles");
  static_assert(SwizzledGate<Args>::value && SwizzledUp<Args>::value && TiledGate<Args>::value &&
                    TiledUp<Args>::value,
                "the weights are in swizzled tiles of 8 x 32");

  const Args& args;
  int expert;

  ETC_DEVICE TiledGateUpView(const Args& args, int expert, int) : args(args), expert(expert) {}
  ETC_DEVICE void Copy(u32 slot, int m, int k, u32 barrier) const {
    static_assert(Args::w_gate_box_0 == kTaskOutputs && Args::w_up_box_0 == kTaskOutputs &&
                      Args::w_gate_box_1 == 64 && Args::w_up_box_1 == 64,
                  "boxes of 64 columns have half of a task's rows");
    CopyTiles(slot, args.w_gate_map, k, m * kTaskOutputs, args.w_gate_slice + expert, barrier);
    CopyTiles(slot + kTaskOutputs * 128, args.w_up_map, k, m * kTaskOutputs,
              args.w_up_slice + expert, barrier);
  }

  static ETC_DEVICE OutputPlace PlaceOf(const Args& args, int place, int m, int rows) {
    return {args.y + i64(place) * kSlots * kOutputs + m * kTaskOutputs, rows,
            kOutputs - m * kTaskOutputs};
  }
  /// A thread has gate and up of an output.
  static ETC_DEVICE float Output(const float (&sums)[kRows / 2], int i) {
    return silu_mul::Gate(sums[i], sums[kRows / 4 + i]);
  }
};

template <class Config, class Args>
struct TiledDownView : RowsOfSlots {
  static constexpr int kSlots = int(Args::y_0) / int(Args::used_0);
  static constexpr int kDepth = int(Args::x_1), kOutputs = int(Args::w_1);
  static constexpr int kRows = int(Config::rows), kTaskOutputs = kRows;
  static_assert(SwizzledW<Args>::value && TiledW<Args>::value,
                "the weights are in swizzled tiles of 8 x 32");

  const Args& args;
  int expert;

  ETC_DEVICE TiledDownView(const Args& args, int expert, int) : args(args), expert(expert) {}
  ETC_DEVICE void Copy(u32 slot, int m, int k, u32 barrier) const {
    static_assert(Args::w_box_0 == kRows && Args::w_box_1 == 64,
                  "a box of 64 columns has a task's rows");
    CopyTiles(slot, args.w_map, k, m * kRows, args.w_slice + expert, barrier);
  }

  static ETC_DEVICE OutputPlace PlaceOf(const Args& args, int place, int m, int rows) {
    return {args.y + i64(place) * kSlots * kOutputs + m * kRows, rows, kOutputs - m * kRows};
  }
  static ETC_DEVICE float Output(const float (&sums)[kRows / 2], int i) { return sums[i]; }
};

template <class Config, class Args>
struct TiledGateUp : TiledExperts<Args, TiledGateUpView<Config, Args>> {
  using Base = TiledExperts<Args, TiledGateUpView<Config, Args>>;
  using Base::Base;
};
template <class Config, class Args>
struct TiledDown : TiledExperts<Args, TiledDownView<Config, Args>> {
  using Base = TiledExperts<Args, TiledDownView<Config, Args>>;
  using Base::Base;
};

}  // namespace etc
