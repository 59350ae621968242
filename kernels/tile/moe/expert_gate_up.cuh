// Gate and up of the experts that a step uses: y[u, b, n] = weight[b, u] * silu(gate) * up of
// expert used[u], for all rows b of x. A weight of 0 says that the expert is not that row's.
//
//   task (u, m)        8 outputs from m * 8 on, of the expert at place u: a task of a gated
//                      SkinnyGemm, whose shape says the rest
//   places             those from n_used on have no expert: their outputs are 0, and no weight
//   moves
//
// ExpertGateUp reads which experts these are. ChosenGateUp chooses them itself for its only row, of
// the router's logits, in the loader and in the epilogue warp of each SM, and task (0, 0) writes
// down the choice.
//
// Config: as SkinnyGemm's; rows is 16, the epilogue is given. Args: x [B, K], norm [K], used [U],
// n_used [1], weight f32 [B, U], w_gate and w_up [E, F, K] in tiles, y [U, B, F]. ChosenGateUp's
// Config has top, renormalise and own as Route's, and its Args have logits f32 [B, E] besides.
#pragma once

#include "arch/sm90/runs.cuh"
#include "tile/gemm/skinny_gemm.cuh"
#include "tile/moe/chosen_experts.cuh"
#include "tile/moe/used_experts.cuh"

namespace etc {

/// y = weight * silu(gate) * up, of a view that has the weight of each b.
struct weighted_silu_mul : EpilogueBase {
  static constexpr int kInputs = 2;
  template <class Args>
  static constexpr bool kReadsPlain = Args::kReadsPlain;
  template <int run, class Args>
  static ETC_DEVICE auto Operand(const Args& args, i64 b, i64) {
    return args.weight.Of(b);
  }
  template <class Args, int run, class T>
  static ETC_DEVICE void Apply(const Args& args, i64 b, i64 n, const float (&sums)[2][run],
                               const T& operand) {
    float weight[1];
    operand.Get(weight);
    float values[run];
#pragma unroll
    for (int i = 0; i < run; ++i) {
      // A weight of 0 is none, whatever the activations of another sequence's expert are.
      values[i] = weight[0] == 0 ? 0 : weight[0] * Silu(sums[0][i]) * sums[1][i];
    }
    StoreRun(args.y, b * Args::y_1 + n, values);
  }
};

/// The main loop of a SkinnyGemm whose activations are made ready before its first weights come:
/// those of experts cannot be on their way before it is known which these are.
template <class Config, class Args>
class ReadyMainLoop : public SkinnyMainLoop<Config, Args> {
  using Base = SkinnyMainLoop<Config, Args>;
  using Shape = SkinnyGemmShape<Config, Args>;
  static_assert(Shape::kHeld && Shape::kNorm, "the activations fit into registers, and are normed");

 public:
  using Sums = typename Base::Sums;
  using Base::Base;

  ETC_DEVICE void Start(Consumer& consumer, const Args& args) {
    Base::Start(consumer, args);
    typename Base::Squares squares = {};
#pragma unroll
    for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
      Base::Prepare(consumer, args, chunk, squares);
    }
    Base::FinishSquares(squares);
  }
  /// The sums of a task's rows over this warp's slices of k.
  ETC_DEVICE void SumTask(Consumer& consumer, int m, Sums& sums) {
#pragma unroll
    for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
      Base::MultiplyGroups(consumer, m, chunk, Base::fragments_ + chunk * Shape::kBlocks, sums,
                           [] {});
    }
  }
};

/// Experts that are read, as each role gets them.
template <class Config, class Args>
struct ListedGateUpChoice {
  using Experts = UsedExperts<Args>;
  static constexpr bool kReadsPlain =
      !IsFlagged<decltype(Args::weight)>::value || !IsFlagged<decltype(Args::n_used)>::value;

  /// The weight at a place, of each row.
  struct Weight {
    decltype(Args::weight) from;
    int place;
    ETC_DEVICE Weight(const Args& args, int at) : from(args.weight), place(at) {}
    ETC_DEVICE auto Of(i64 b) const { return ReadRun<1>(from, b * Args::weight_1 + place); }
  };
  /// The epilogue warp's side, made once in a share.
  struct Epilogue {
    int number;
    ETC_DEVICE Epilogue(const EpilogueWarp&, const Args& args)
        : number(int(ReadWord(args.n_used, 0))) {}
    template <class View>
    ETC_DEVICE void SetWeight(View&) const {}
    ETC_DEVICE void Store(const EpilogueWarp&, const Args&) const {}
  };
};

/// Experts that each SM chooses itself.
template <class Config, class Args>
struct OwnGateUpChoice {
  using Experts = ChosenExperts<Config, Args>;
  static constexpr bool kReadsPlain = !IsFlagged<decltype(Args::logits)>::value;

  /// The weight of the only row.
  struct Weight {
    struct Operand {
      float value;
      ETC_DEVICE void Get(float (&values)[1]) const { values[0] = value; }
    };
    float value;
    ETC_DEVICE Weight(const Args&, int) {}
    ETC_DEVICE Operand Of(i64) const { return {value}; }
  };
  class Epilogue {
    WarpChoice<Config, Args> choice_;
    float weight_;  // of the place that is the lane

   public:
    int number;
    ETC_DEVICE Epilogue(const EpilogueWarp& epilogue_warp, const Args& args)
        : choice_(args, epilogue_warp.lane),
          weight_(choice_.MyWeight(epilogue_warp.lane)),
          number(choice_.Number()) {}
    template <class View>
    ETC_DEVICE void SetWeight(View& view) const {
      view.weight.value = __shfl_sync(0xffffffffu, weight_, view.place);
    }
    /// Writes down what was chosen, for whoever comes behind.
    ETC_DEVICE void Store(const EpilogueWarp& epilogue_warp, const Args& args) const {
      int lane = epilogue_warp.lane;
      if (lane == 0) {
        StoreWord(args.n_used, 0, u32(number));
      }
      if (lane < int(Args::used_0)) {
        StoreWord(args.used, lane, u32(choice_.Mine(lane)));
      }
    }
  };
};

template <class Config, class Args, template <class, class> class ChoiceOf>
class GateUpOfExperts {
  using Choice = ChoiceOf<Config, Args>;
  static constexpr int kInner = int(Args::w_gate_1);

  /// One expert's gate and up, as a SkinnyGemm sees them.
  struct View {
    decltype(Args::x) x;
    i64 x_0;
    static constexpr i64 x_1 = Args::x_1;
    decltype(Args::norm) norm;
    const bf16* w_gate;
    const bf16* w_up;
    static constexpr i64 w_gate_tile_0 = Args::w_gate_tile_0, w_gate_tile_1 = Args::w_gate_tile_1;
    static constexpr i64 w_up_tile_0 = Args::w_up_tile_0, w_up_tile_1 = Args::w_up_tile_1;
    static constexpr bool w_gate_swizzle = SwizzledGate<Args>::value;
    static constexpr bool w_up_swizzle = SwizzledUp<Args>::value;
    typename Choice::Weight weight;
    int place;
    static constexpr bool kReadsPlain = Choice::kReadsPlain;
    decltype(Args::y) y;
    static constexpr i64 y_1 = kInner;

    ETC_DEVICE View(const Args& args, int expert, int at)
        : x(args.x),
          x_0(args.x_0),
          norm(args.norm),
          w_gate(args.w_gate + i64(expert) * kInner * x_1),
          w_up(args.w_up + i64(expert) * kInner * x_1),
          weight(args, at),
          place(at),
          y(args.y + i64(at) * args.x_0 * kInner) {}
  };
  struct GemmConfig : Config {
    using epilogue = weighted_silu_mul;
  };
  using Gemm = SkinnyGemm<GemmConfig, View>;
  using GemmShape = SkinnyGemmShape<GemmConfig, View>;
  using MainLoop = ReadyMainLoop<GemmConfig, View>;

 public:
  static constexpr int kSlotBytes = Gemm::kSlotBytes;
  static constexpr int kScratchBytes = Gemm::kScratchBytes;

  using Source = PlaceSource<Gemm, View, Args, typename Choice::Experts>;

  static ETC_DEVICE void Prefetch(const Consumer& consumer, const Args& args, int u, int m) {
    Gemm::Prefetch(consumer, View(args, 0, u), m);
  }

  // The activations are ready before the number of experts is waited for, which comes later.
  ETC_DEVICE GateUpOfExperts(Consumer& consumer, const Args& args) : loop_(consumer) {
    loop_.Start(consumer, View(args, 0, 0));
    number_ = TakeNumberOfExperts(consumer);
  }

  ETC_DEVICE void Run(Consumer& consumer, const Args&, int u, int m) {
    if (u < number_) {
      typename MainLoop::Sums sums = {};
      loop_.SumTask(consumer, m, sums);
      CommitSums<GemmShape>(consumer, loop_, sums);
      loop_.EndTask();
    }
  }

  class Reduction {
    using GemmReduction = typename Gemm::Reduction;

   public:
    using Exists = void;
    static constexpr bool kExists = true;
    static_assert(GemmReduction::kExists, "a task of experts is not `single`");
    static constexpr int kPartialsBytes = GemmReduction::kPartialsBytes;

    ETC_DEVICE Reduction(EpilogueWarp& epilogue_warp, const Args& args)
        : reduction_(epilogue_warp, View(args, 0, 0)), choice_(epilogue_warp, args) {}

    ETC_DEVICE void Run(EpilogueWarp& epilogue_warp, const Args& args, int u, int m) {
      View view(args, 0, u);
      choice_.SetWeight(view);
      if (u == 0 && m == 0) {
        choice_.Store(epilogue_warp, args);
      }
      if (u < choice_.number) {
        reduction_.Run(epilogue_warp, view, m);
      } else {
        StoreZeros(epilogue_warp, view, m);
      }
    }

   private:
    /// What no expert makes, by the lanes that would store it.
    static ETC_DEVICE void StoreZeros(const EpilogueWarp& epilogue_warp, const View& view, int m) {
      constexpr int kRun = GemmShape::kOutputs / 4;
      const float zeros[kRun] = {};
      i64 n = i64(m) * GemmShape::kOutputs + epilogue_warp.lane % 4 * kRun;
#pragma unroll
      for (int tile = 0; tile < GemmShape::kTiles; ++tile) {
        int b = tile * 8 + epilogue_warp.lane / 4;
        if (b < view.x_0) {
          StoreRun(view.y, i64(b) * View::y_1 + n, zeros);
        }
      }
    }

    GemmReduction reduction_;
    typename Choice::Epilogue choice_;
  };

 private:
  MainLoop loop_;
  int number_;
};

template <class Config, class Args>
class ExpertGateUp : public GateUpOfExperts<Config, Args, ListedGateUpChoice> {
  using GateUpOfExperts<Config, Args, ListedGateUpChoice>::GateUpOfExperts;
};
template <class Config, class Args>
class ChosenGateUp : public GateUpOfExperts<Config, Args, OwnGateUpChoice> {
  using GateUpOfExperts<Config, Args, OwnGateUpChoice>::GateUpOfExperts;
};

}  // namespace etc
