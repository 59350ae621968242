// The two GEMMs of the experts whose tokens are in lists, as ListExperts makes them: gate and up of
// the tokens of each place, wherever their rows stand in x, and down of a place's slots.
//
//   task (u, m)        `rows` weight rows of the expert at place u, for the tokens of its slots: a
//                      task of a SwapAbGemm, whose shape says the rest
//   largest batch      the slots of a place; of a place with few tokens, few columns are fetched
//                      and multiplied
//   places             those from n_used on have none, and their tasks do nothing; an expert with
//                      more tokens than slots has several
//
// Config: as SwapAbGemm's; max_batch is the number of slots. Args of ListedGateUp: x [B, K], used
// [P], n_used [1], count [P], token [P * G], w_gate and w_up [E, F, K] in tiles, y [P * G, F]. Of
// ListedDown: x [P * G, K], used, n_used, count, w [E, N, K] in tiles, y f32 [P * G, N].
#pragma once

#include "arch/sm90/launch.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/swap_ab_gemm.cuh"
#include "tile/moe/listed_activations.cuh"
#include "tile/moe/listed_rows.cuh"
#include "tile/moe/used_experts.cuh"

namespace etc {

/// Both of them; View<Args> is what one place looks like to a SwapAbGemm, and where its rows are.
template <class Config, class Args, class View>
class ListedGemm {
  using GemmConfig = ListedConfig<Config>;
  using Gemm = SwapAbGemm<GemmConfig, View>;
  using Shape = SwapAbGemmShape<GemmConfig, View>;
  using Loop = SwapAbMainLoop<GemmConfig, View>;
  using Activations = SwapAbActivations<GemmConfig, View>;
  using Rows = typename Activations::Rows;
  static constexpr int kTasks = DivideUp(Shape::kAllPairs, Shape::kPairs);  // of a place
  static_assert(Shape::kColumns == View::kSlots, "the slots of a place are the columns of a task");
  static constexpr int kFewColumns = Activations::kFewColumns;

 public:
  static constexpr int kSlotBytes = Shape::kSlotBytes;
  static constexpr int kScratchBytes = Shape::kScratchBytes;

  using Source = PlaceSource<Gemm, View, Args>;

  ETC_DEVICE ListedGemm(Consumer& consumer, const Args& args)
      : loop_(consumer, View(args, 0, 0)), number_(TakeNumberOfExperts(consumer)) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int u, int m) {
    if (u >= number_) {
      return;
    }
    View view(args, 0, u);
    // What is fetched ahead is of the task that the share most likely has next.
    if (!Activations::kLooksAhead || fetched_ != u) {
      consumer.Sync();
      loop_.x.Begin(view, RowsOf(args, u));
    }
    view.x_0 = loop_.x.Number();
    fetched_ = (u * kTasks + m + int(GridSize())) / kTasks;
    loop_.x.SetNext(RowsOf(args, fetched_));
    if constexpr (kFewColumns < Shape::kColumns) {
      if (view.x_0 <= kFewColumns) {
        Multiply<kFewColumns>(consumer, view, m);
        return;
      }
    }
    Multiply<Shape::kColumns>(consumer, view, m);
  }

 private:
  Loop loop_;
  int number_;
  int fetched_ = -1;  // the place whose rows are fetched ahead

  /// A task's first columns.
  template <int kColumns>
  ETC_DEVICE void Multiply(Consumer& consumer, const View& view, int m) {
    float sums[Shape::kBlocks][kColumns / 2] = {};
    loop_.Multiply(consumer, view, 0, sums);
    SwapAbEpilogue<GemmConfig, View, kColumns>::End(consumer, view, loop_.x, m, 0, sums);
  }

  ETC_DEVICE Rows RowsOf(const Args& args, int u) const {
    return LoadRowsOfPlace<View>(args, loop_.x, u, u < number_);
  }
};

template <class Args>
struct ListedGateUpView : RowsOfTokens {
  static constexpr int kSlots = int(Args::token_0) / int(Args::used_0);
  static constexpr int kInner = int(Args::w_gate_1);
  const bf16* x;
  i64 x_0 = 0;
  static constexpr i64 x_1 = Args::x_1;
  const bf16* w_gate;
  const bf16* w_up;
  static constexpr i64 w_gate_tile_0 = Args::w_gate_tile_0, w_gate_tile_1 = Args::w_gate_tile_1;
  static constexpr i64 w_up_tile_0 = Args::w_up_tile_0, w_up_tile_1 = Args::w_up_tile_1;
  static constexpr bool w_gate_swizzle = SwizzledGate<Args>::value;
  static constexpr bool w_up_swizzle = SwizzledUp<Args>::value;
  bf16* y;
  static constexpr i64 y_1 = kInner;

  ETC_DEVICE ListedGateUpView(const Args& args, int expert, int place)
      : x(args.x),
        w_gate(args.w_gate + i64(expert) * kInner * x_1),
        w_up(args.w_up + i64(expert) * kInner * x_1),
        y(args.y + i64(place) * kSlots * kInner) {}
};

template <class Args>
struct ListedDownView : RowsOfSlots {
  static constexpr int kSlots = int(Args::y_0) / int(Args::used_0);
  static constexpr int kOutputs = int(Args::w_1);
  const bf16* x;
  i64 x_0 = 0;
  static constexpr i64 x_1 = Args::x_1;
  const bf16* w;
  static constexpr i64 w_tile_0 = Args::w_tile_0, w_tile_1 = Args::w_tile_1;
  static constexpr bool w_swizzle = SwizzledW<Args>::value;
  float* y;
  static constexpr i64 y_1 = kOutputs;

  ETC_DEVICE ListedDownView(const Args& args, int expert, int place)
      : x(args.x),
        w(args.w + i64(expert) * kOutputs * x_1),
        y(args.y + i64(place) * kSlots * kOutputs) {}
};

template <class Config>
struct ListedGateUpConfig : Config {
  using epilogue = silu_mul;
};

template <class Config, class Args>
struct ListedGateUp : ListedGemm<ListedGateUpConfig<Config>, Args, ListedGateUpView<Args>> {
  using Base = ListedGemm<ListedGateUpConfig<Config>, Args, ListedGateUpView<Args>>;
  using Base::Base;
};
template <class Config, class Args>
struct ListedDown : ListedGemm<Config, Args, ListedDownView<Args>> {
  using Base = ListedGemm<Config, Args, ListedDownView<Args>>;
  using Base::Base;
};

}  // namespace etc
