// SkinnyGemm behind PostNorm, for one row, without a call and a signal between the two: every SM
// norms the row itself, and multiplies it by its weights. With t = x + post_norm' * z / rms(z),
// a = norm' * t / rms(t) and h = t, y is what SkinnyGemm makes of a. z, rms and the weights w' are
// those of PostNorm (tile/pointwise/post_norm.cuh), and so is each rounding: the bits are those of
// the two calls.
//
// Config: as for SkinnyGemm, with max_batch 1 and without norm; eps; may have norm_offset (0). x
// and h are bf16 [1, K], partials f32 [P, 1, K], post_norm and norm bf16 [K]. Task 0 stores h.
//
// The consumers have the row as in PostNorm, four neighbouring elements for each thread in a round.
// They leave a in scratch, and each lane then takes its operands of all tasks from it.
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/skinny_gemm.cuh"
#include "tile/pointwise/norm.cuh"
#include "tile/pointwise/post_norm_row.cuh"

namespace etc {

/// The main loop of SkinnyGemm over the normed row.
template <class Config, class Args>
class PostNormMainLoop : public SkinnyMainLoop<Config, Args> {
  using Base = SkinnyMainLoop<Config, Args>;
  using Shape = SkinnyGemmShape<Config, Args>;
  using X = typename Shape::X;
  static_assert(Shape::kHeld && !Shape::kNorm, "the normed row is held in registers");
  static_assert(Config::max_batch == 1, "all SMs norm one row");
  static constexpr int kDepth = Shape::kDepth, kParts = int(Args::partials_0);
  static constexpr int kRounds = kNormRounds<kDepth>;
  static constexpr int kRowAt = SumOfAll::kScratchBytes;  // in scratch

 public:
  static constexpr bool kFlagged = IsFlagged<decltype(Args::partials)>::value;
  static constexpr int kScratchBytes = kRowAt + kDepth * 2;

  ETC_DEVICE explicit PostNormMainLoop(const Consumer& consumer) : Base(consumer) {
    // Start is behind a branch: what it does not define the compiler would keep from before.
#pragma unroll
    for (auto& fragment : this->fragments_) {
      fragment[0] = {0, 0, 0, 0};
    }
  }

  ETC_DEVICE void Start(Consumer& consumer, const Args& args, int m) {
    Norm(consumer, args, m == 0);
    u32 row = SharedAddress(consumer.scratch) + kRowAt;
#pragma unroll
    for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
      u32 from = row + (chunk * Shape::kChunk + this->x_.FirstK(consumer, chunk)) * 2;
#pragma unroll
      for (int block = 0; block < Shape::kBlocks; ++block) {
        if (block < X::Blocks(chunk)) {
          bool has = this->x_.group == 0 && X::Has(consumer, chunk, block);
          this->fragments_[chunk * Shape::kBlocks + block][0] =
              LoadSharedIf(from + block * 64, has);
        }
      }
    }
  }

  ETC_DEVICE void SumTask(Consumer& consumer, int m, typename Base::Sums& sums) {
#pragma unroll
    for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
      this->MultiplyGroups(consumer, m, chunk, this->fragments_ + chunk * Shape::kBlocks, sums,
                           [] {});
    }
  }

 private:
  SumOfAll sum_;

  /// Waits for what the row is made of, and leaves it in scratch. With `stores` this SM stores h.
  ETC_DEVICE void Norm(Consumer& consumer, const Args& args, bool stores) {
    // Zeros where the last round has none, or the compiler would keep what was there before.
    ElementRun<const bf16*, 4> post_norms[kRounds] = {}, norms[kRounds] = {};
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      post_norms[round] = ReadRun<4>(args.post_norm, k);
      norms[round] = ReadRun<4>(args.norm, k);
    });
    if constexpr (kFlagged) {
      consumer.AwaitOthers();
    }
    decltype(ReadRun<4>(args.x, 0)) olds[kRounds] = {};
    decltype(ReadRun<4>(args.partials, 0)) parts[kRounds][kParts] = {};
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      olds[round] = ReadRun<4>(args.x, k);
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        parts[round][p] = ReadRun<4>(args.partials, p * kDepth + k);
      }
    });
    bf16* normed = reinterpret_cast<bf16*>(consumer.scratch + kRowAt);
    PostNormRow<Config, kDepth>::Norm(
        consumer, sum_, olds, parts, post_norms, norms,
        [&](int k, const float(&values)[4]) {
          if (stores) {
            StoreRun(args.h, k, values);
          }
        },
        [&](int k, const float(&values)[4]) { StoreRun(normed, k, values); });
    consumer.Sync();
  }
};

template <class Config, class Args>
class PostNormGemm {
  using Shape = SkinnyGemmShape<Config, Args>;
  using MainLoop = PostNormMainLoop<Config, Args>;
  using Skinny = SkinnyGemm<Config, Args>;
  static_assert(!Shape::kBegins, "an epilogue that reads what the consumers wait for has no place");

 public:
  static constexpr int kSlotBytes = Skinny::kSlotBytes;
  static constexpr int kScratchBytes = MainLoop::kScratchBytes;
  using Reduction = SkinnyGemmReduction<Config, Args>;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int m) {
    Skinny::Load(loader, args, m);
  }

  static ETC_DEVICE void Prefetch(const Consumer& consumer, const Args& args, int) {
    // Of flagged operands the weights are loaded before the wait.
    if constexpr (!MainLoop::kFlagged) {
      PrefetchNorm(consumer, args.post_norm, Shape::kDepth);
      PrefetchNorm(consumer, args.norm, Shape::kDepth);
    }
  }

  ETC_DEVICE PostNormGemm(Consumer& consumer, const Args&) : loop_(consumer) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int m) {
    if constexpr (Shape::kSingle) {
      MultiplyAndStore(consumer, args, m);
    } else {
      Multiply(consumer, args, m);
    }
    loop_.EndTask();
  }

 private:
  MainLoop loop_;

  /// As SkinnyGemm has it. Task 0 stores h, though it may not be the first.
  ETC_DEVICE void Multiply(Consumer& consumer, const Args& args, int m) {
    if (loop_.IsFresh() || m == 0) {
      loop_.Start(consumer, args, m);
    }
    typename MainLoop::Sums sums = {};
    loop_.SumTask(consumer, m, sums);
    CommitSums<Shape>(consumer, loop_, sums);
  }

  ETC_DEVICE void MultiplyAndStore(Consumer& consumer, const Args& args, int m) {
    SkinnySingleEpilogue<Config, Args> epilogue(consumer, args, m);
    u32 partials = consumer.BorrowPartials();
    loop_.Start(consumer, args, m);
    typename MainLoop::Sums sums = {};
    loop_.SumTask(consumer, m, sums);
    StoreSums<Shape>(consumer, args, loop_, epilogue, partials, sums);
  }
};

}  // namespace etc
