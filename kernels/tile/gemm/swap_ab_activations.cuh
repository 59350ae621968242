// The activations of a SwapAbGemm: pieces of 16 bytes, fetched from L2 into stages in shared memory
// some of them ahead of the tensor cores, and on into the next task's, whose are the same; the
// destructor waits for what was too much.
#pragma once

#include "arch/sm90/copy.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/registers.cuh"
#include "arch/sm90/wgmma.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/swap_ab_gemm_shape.cuh"

namespace etc {

template <class Config, class Args>
struct SwapAbActivations {
  using Shape = SwapAbGemmShape<Config, Args>;

  int group;  // this thread's warpgroup

  ETC_DEVICE SwapAbActivations(const Consumer& consumer, const Args& args) {
    // Opaque, here and in SwapAbGemm: the compiler would compute the addresses of all shares of a
    // kernel ahead of its loops, and run out of registers.
    group = Opaque(consumer.warp) / 4;
    constexpr int atom = Shape::kAtomBytes;
    u32 scratch = (SharedAddress(consumer.scratch) + atom - 1) / atom * atom;
    stage_ = first_stage_ =
        scratch + (Shape::kSplits ? group * Shape::kStages * Shape::kStageBytes : 0);
    int fetcher = Opaque(consumer.thread) % Shape::kFetchers;
    int column = fetcher / 8;
    source_ = args.x + i64(column) * Shape::kDepth + FirstK() + fetcher % 8 * 8;
    piece_ = column * 128 + (fetcher % 8 ^ column % 8) * 16;
  }

  ETC_DEVICE ~SwapAbActivations() { CopyWait<0>(); }

  /// Where in a slot the k of this thread's warpgroup begin.
  ETC_DEVICE int FirstK() const {
    return Shape::kSplits ? group * Shape::kChunkUnits * Shape::kUnit : 0;
  }

  /// Before FetchFirst: the stages are those of split p.
  ETC_DEVICE void BeginSplit(int p) {
    fetched_ = Shape::FirstChunk(p) * Shape::kChunkStages;
    fetch_end_ = Shape::FirstChunk(p + 1) * Shape::kChunkStages;
  }

  ETC_DEVICE void FetchFirst(const Args& args) {
    u32 stage = stage_;
#pragma unroll
    for (int i = 0; i + 1 < Shape::kStages; ++i) {
      Fetch(args, stage);
      stage = Behind(stage);
    }
  }

  /// Starts to bring the next activations, to a stage; behind the end of a split, none.
  ETC_DEVICE void Fetch(const Args& args, u32 stage) {
    if (!Shape::kIsSplit || fetched_ < fetch_end_) {
      const bf16* from = source_ + fetched_ / Shape::kChunkStages * Shape::kSlotDepth +
                         fetched_ % Shape::kChunkStages * Shape::kUnits * Shape::kUnit;
      ForPieces([&](int round, int unit, int offset) {
        bool exists = FirstColumn() + round * Shape::kRoundColumns < args.x_0;
        if constexpr (Shape::kRagged) {
          exists = exists && HasNext(unit);
        }
        const bf16* piece =
            from + round * Shape::kRoundColumns * Shape::kDepth + unit * Shape::kUnit;
        CopyPiece(stage + piece_ + offset, piece, exists);
      });
    }
    CopyCommit();
    fetched_ =
        !Shape::kIsSplit && fetched_ + 1 == Shape::kChunks * Shape::kChunkStages ? 0 : fetched_ + 1;
  }

  /// Waits for the next stage, and gives its address. No tensor core reads the one before any more.
  ETC_DEVICE u32 Next(Consumer& consumer) {
    u32 stage = stage_;
    stage_ = Behind(stage);
    CopyWait<Shape::kStages - 2>();
    WgmmaSharedFence();
    SyncFetchers(consumer);
    return stage;
  }

  /// The stage before one; before the next one, the last.
  ETC_DEVICE u32 Before(u32 stage) const {
    constexpr u32 last = (Shape::kStages - 1) * Shape::kStageBytes;
    return stage == first_stage_ ? stage + last : stage - Shape::kStageBytes;
  }
  ETC_DEVICE u32 Last() const { return Before(stage_); }

  /// A barrier of those who fetch together.
  ETC_DEVICE void SyncFetchers(Consumer& consumer) const {
    if constexpr (Shape::kSplits) {
      NamedBarrierSync<Shape::kGroupThreads>(Shape::kFirstBarrier + group);
    } else {
      consumer.Sync();
    }
  }

 private:
  const bf16* source_;
  u32 first_stage_, stage_, piece_;
  int fetched_ = 0;    // stages that are, of all k
  int fetch_end_ = 0;  // of a split

  ETC_DEVICE u32 Behind(u32 stage) const {
    constexpr u32 last = (Shape::kStages - 1) * Shape::kStageBytes;
    return stage == first_stage_ + last ? first_stage_ : stage + Shape::kStageBytes;
  }

  /// The column of this thread's first piece.
  ETC_DEVICE int FirstColumn() const { return int(piece_ / 128); }
  /// Whether the k of this thread's pieces of a unit of the next stage are before the end.
  ETC_DEVICE bool HasNext(int unit) const {
    int stage = fetched_ % Shape::kChunkStages * Shape::kUnits + unit;
    int in_unit = int(piece_ / 16 ^ piece_ / 128) % 8 * 8;
    return Shape::Has(fetched_ / Shape::kChunkStages, FirstK() + stage * Shape::kUnit + in_unit);
  }

  /// Calls body(round, unit, offset in a stage) for each of a thread's pieces.
  template <class Body>
  static ETC_DEVICE void ForPieces(Body body) {
#pragma unroll
    for (int unit = 0; unit < Shape::kUnits; ++unit) {
#pragma unroll
      for (int round = 0; round < Shape::kRounds; ++round) {
        body(round, unit, unit * Shape::kUnitBytes + round * Shape::kRoundColumns * 128);
      }
    }
  }
};

}  // namespace etc
