// Down of the experts that a step uses, as one sum: y[b, n] = residual[b, n] + the sum over the
// used experts u and their inner k of w[used[u], n, k] * x[u, b, k]. x has the routing weights
// already.
//
//   task (m)           16 outputs from m * 16 on: a task of a SkinnyGemm whose k are those of the
//                      used experts one behind the other
//   k of a ring slot   512 of one expert; the last of an expert may have fewer
//   activations        from L2, those of the next expert on their way: of more, registers would
//                      have to be spilled. An expert's rows are one piece of memory. Of one row
//                      those of eight experts are on their way, in the lanes that else have rows
//
// Config: as SkinnyGemm's; the epilogue is 'residual, or instead 'send or 'send_to_owner, which
// send the sum to all ranks or to the column's owner. Args: x [U, B, F], used [U], n_used [1], w
// [E, N, F] in tiles, residual and y [B, N], or y as the epilogue has it, symmetric.
#pragma once

#include "tile/gemm/skinny_gemm.cuh"
#include "tile/moe/used_experts.cuh"

namespace etc {

/// The main loop of a SkinnyGemm over several tensors of activations, as `view(place)` gives them.
template <class Config, class View>
class ExpertSumLoop : SkinnyMainLoop<Config, View> {
  using Base = SkinnyMainLoop<Config, View>;
  using Shape = SkinnyGemmShape<Config, View>;
  using X = typename Shape::X;
  static_assert(Shape::kHeld, "the activations of one expert fit into registers");
  static constexpr bool kOneRow = int(Config::max_batch) == 1;
  static constexpr int kColumns = 8;  // of the tensor core instruction, for rows of x

 public:
  using Sums = typename Base::Sums;

  ETC_DEVICE explicit ExpertSumLoop(const Consumer& consumer) : Base(consumer) {}

  ETC_DEVICE const Base& Lanes() const { return *this; }

  /// The sums of a task's rows over the slices of k that this warp has of each of `number` views.
  template <class ViewOf>
  ETC_DEVICE void SumTask(Consumer& consumer, int number, const ViewOf& view, Sums& sums) {
    if constexpr (kOneRow) {
#pragma unroll 1
      for (int first = 0; first < number; first += kColumns) {
        View places = view(first);  // as if they were rows
        places.x_0 = min(kColumns, number - first);
        SumPlaces(consumer, places, sums);
      }
    } else {
      SumRows(consumer, number, view, sums);
    }
  }

 private:
  template <class ViewOf>
  ETC_DEVICE void SumRows(Consumer& consumer, int number, const ViewOf& view, Sums& sums) {
    Vec4 x[Shape::kAllBlocks][Shape::kTiles];
    if (number > 0) {
      Start(consumer, view(0), x);
    }
#pragma unroll 1
    for (int place = 0; place < number; ++place) {
#pragma unroll
      for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
        Vec4(*fragments)[Shape::kTiles] = x + chunk * Shape::kBlocks;
        Vec4 weights[Shape::kBlocks][2];
        u32 read = Base::LoadWeights(consumer, chunk, weights);
        if constexpr (Shape::kFlagged) {
          Base::x_.FinishWords(consumer, view(place), chunk, fragments);
        }
        Base::MultiplyChunk(chunk, weights, fragments, sums[0]);
        consumer.Release(read);
      }
      if (place + 1 < number) {
        Start(consumer, view(place + 1), x);
      }
    }
  }

  /// The sums over places that each have a group of lanes for their row. What is multiplied comes
  /// from the place's lanes, into all columns; nobody looks at those behind the first.
  ETC_DEVICE void SumPlaces(Consumer& consumer, const View& places, Sums& sums) {
    Vec4 x[Shape::kAllBlocks][Shape::kTiles];
    Start(consumer, places, x);
#pragma unroll 1
    for (int place = 0; place < int(places.x_0); ++place) {
      if constexpr (Shape::kFlagged) {
        AwaitPlace(consumer, places, place, x);
      }
      int from = place * 4 + Base::Quad();
#pragma unroll
      for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
        Vec4 weights[Shape::kBlocks][2];
        u32 read = Base::LoadWeights(consumer, chunk, weights);
        Vec4 row[Shape::kBlocks][Shape::kTiles];
#pragma unroll
        for (int block = 0; block < X::Blocks(chunk); ++block) {
          row[block][0] = FromLane(x[chunk * Shape::kBlocks + block][0], from);
          if constexpr (Shape::kFlagged) {
            row[block][0] = FromFlagged(row[block][0]);
          }
        }
        Base::MultiplyChunk(chunk, weights, row, sums[0]);
        consumer.Release(read);
      }
    }
  }
  /// Those of the places behind are fetched again, too, as most of them are there by then.
  ETC_DEVICE void AwaitPlace(const Consumer& consumer, const View& places, int place,
                             Vec4 (*x)[Shape::kTiles]) const {
    auto is_missing = [&] {
      bool missing = false;
#pragma unroll
      for (int block = 0; block < Shape::kAllBlocks; ++block) {
        missing |= IsMissing(x[block][0]);
      }
      return missing && Base::Group() == place;
    };
    while (AnyLane(is_missing())) {
      Base::x_.template Fetch<Shape::kAllBlocks>(consumer, places, 0, x);
    }
  }
  static ETC_DEVICE Vec4 FromLane(const Vec4& words, int lane) {
    constexpr u32 kAll = 0xffffffffu;
    return {__shfl_sync(kAll, words.x, lane), __shfl_sync(kAll, words.y, lane),
            __shfl_sync(kAll, words.z, lane), __shfl_sync(kAll, words.w, lane)};
  }

  ETC_DEVICE void Start(const Consumer& consumer, const View& view,
                        Vec4 (*x)[Shape::kTiles]) const {
    if constexpr (Shape::kFlagged) {
      Base::x_.StartWords(consumer, view, 0, x);
      Base::x_.template Fetch<Shape::kAllBlocks>(consumer, view, 0, x);
    } else {
#pragma unroll
      for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
        Base::x_.LoadPlain(consumer, view, chunk, x + chunk * Shape::kBlocks);
      }
    }
  }
};

ETC_WORD_OPTION(ExpertDownEpilogue, epilogue, residual);

/// What the epilogue of a SkinnyGemm stores to, and what it adds.
template <class Args, class Epilogue>
struct ExpertDownOutputs {
  decltype(Args::residual) residual;
  static constexpr i64 residual_1 = Args::w_1;
  decltype(Args::y) y;
  static constexpr i64 y_1 = Args::w_1;

  explicit ETC_DEVICE ExpertDownOutputs(const Args& args) : residual(args.residual), y(args.y) {}
};
template <class Args>
struct SymmetricOutputs {
  decltype(Args::y) y;
  static constexpr i64 y_0 = Args::y_0, y_2 = Args::y_2;
  i64 y_1;
  const decltype(Args::dims)& dims;

  explicit ETC_DEVICE SymmetricOutputs(const Args& args)
      : y(args.y), y_1(args.y_1), dims(args.dims) {}
};
template <class Args>
struct ExpertDownOutputs<Args, send> : SymmetricOutputs<Args> {
  using SymmetricOutputs<Args>::SymmetricOutputs;
};
template <class Args>
struct ExpertDownOutputs<Args, send_to_owner> : SymmetricOutputs<Args> {
  using SymmetricOutputs<Args>::SymmetricOutputs;
};

template <class Config, class Args>
class ExpertDown {
  static constexpr int kOutputs = int(Args::w_1);
  using Outputs = ExpertDownOutputs<Args, typename ExpertDownEpilogue<Config>::type>;

  /// One expert's part of the sum, as a SkinnyGemm sees it.
  struct View : Outputs {
    decltype(Args::x) x;
    i64 x_0;
    static constexpr i64 x_1 = Args::x_2;
    const bf16* w;
    static constexpr i64 w_tile_0 = Args::w_tile_0, w_tile_1 = Args::w_tile_1;
    static constexpr bool w_swizzle = SwizzledW<Args>::value;

    ETC_DEVICE View(const Args& args, int expert, int place)
        : Outputs(args),
          x(args.x + i64(place) * args.x_1 * x_1),
          x_0(args.x_1),
          w(args.w + i64(expert) * kOutputs * x_1) {}
  };
  struct GemmConfig : Config {
    using epilogue = typename ExpertDownEpilogue<Config>::type;
  };
  using Gemm = SkinnyGemm<GemmConfig, View>;
  using Shape = SkinnyGemmShape<GemmConfig, View>;
  using MainLoop = ExpertSumLoop<GemmConfig, View>;
  static_assert(!Shape::kSingle && Shape::kGroups == 1, "a task has 8 or 16 rows");

 public:
  static constexpr int kSlotBytes = Gemm::kSlotBytes;
  static constexpr int kScratchBytes = Gemm::kScratchBytes;

  class Source {
   public:
    ETC_DEVICE Source(Loader& loader, const Args& args) : experts_(loader, args) {}
    ETC_DEVICE void Load(Loader& loader, const Args& args, int m) {
#pragma unroll 1
      for (int place = 0; place < experts_.Number(); ++place) {
        Gemm::Load(loader, View(args, experts_.At(place), 0), m);
      }
    }

   private:
    UsedExperts<Args> experts_;
  };

  ETC_DEVICE ExpertDown(Consumer& consumer, const Args&)
      : loop_(consumer), number_(TakeNumberOfExperts(consumer)) {
    if constexpr (Shape::kBegins) {
      consumer.Begin();
    }
    if constexpr (Shape::kFlagged) {
      consumer.AwaitOthers();
    }
  }

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int) {
    typename MainLoop::Sums sums = {};
    auto view = [&](int place) { return View(args, 0, place); };
    loop_.SumTask(consumer, number_, view, sums);
    CommitSums<Shape>(consumer, loop_.Lanes(), sums);
  }

  class Reduction : Gemm::Reduction {
    using Base = typename Gemm::Reduction;

   public:
    using Exists = void;
    static constexpr bool kExists = Base::kExists;
    static constexpr int kPartialsBytes = Base::kPartialsBytes;

    ETC_DEVICE Reduction(EpilogueWarp& epilogue_warp, const Args& args)
        : Base(epilogue_warp, View(args, 0, 0)) {}
    ETC_DEVICE void Run(EpilogueWarp& epilogue_warp, const Args& args, int m) {
      Base::Run(epilogue_warp, View(args, 0, 0), m);
    }
  };

 private:
  MainLoop loop_;
  int number_;
};

}  // namespace etc
