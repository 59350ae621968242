// The activations of a SwapAbGemm whose tasks have rows of their own: those of an expert's tokens,
// wherever these stand, or the slots of a place. As in SwapAbActivations, pieces of 16 bytes are
// fetched into stages some of them ahead of the tensor cores, and on into the next task, whose rows
// are other ones.
#pragma once

#include "arch/sm90/copy.cuh"
#include "arch/sm90/launch.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/registers.cuh"
#include "arch/sm90/wgmma.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/swap_ab_gemm_shape.cuh"
#include "tile/moe/listed_rows.cuh"

namespace etc {

/// A SwapAbGemm's configuration, for tasks of lists.
template <class Config>
struct ListedConfig : Config {};

template <class Config, class Args>
struct SwapAbActivations;

/// Args has x, the memory that the rows are in, and x_1, their length.
template <class Config, class Args>
struct SwapAbActivations<ListedConfig<Config>, Args> {
  using Shape = SwapAbGemmShape<ListedConfig<Config>, Args>;
  static constexpr int kTaskStages = Shape::kChunks * Shape::kChunkStages;
  /// A task that has no more columns fetches and multiplies so many. With choices of experts that
  /// are even, nearly all tasks do.
  static constexpr int kFewColumns = Shape::kRoundColumns;
  /// Whether what is fetched ahead is of the task and the next one alone.
  static constexpr bool kLooksAhead = kTaskStages + 1 >= Shape::kStages;

  using Rows = ListedRows<Shape::kRounds>;  // a task's columns

  int group;  // this thread's warpgroup

  ETC_DEVICE SwapAbActivations(const Consumer& consumer, const Args& args) : x_(args.x) {
    group = Opaque(consumer.warp) / 4;
    constexpr int atom = Shape::kAtomBytes;
    u32 scratch = (SharedAddress(consumer.scratch) + atom - 1) / atom * atom;
    stage_ = first_stage_ =
        scratch + (Shape::kSplits ? group * Shape::kStages * Shape::kStageBytes : 0);
    int fetcher = Opaque(consumer.thread) % Shape::kFetchers;
    int column = fetcher / 8;
    x_ += FirstK() + fetcher % 8 * 8;
    piece_ = column * 128 + (fetcher % 8 ^ column % 8) * 16;
  }

  ETC_DEVICE ~SwapAbActivations() { CopyWait<0>(); }

  /// Where in a slot the k of this thread's warpgroup begin.
  ETC_DEVICE int FirstK() const {
    return Shape::kSplits ? group * Shape::kChunkUnits * Shape::kUnit : 0;
  }
  /// The slot of a place, a task's column, that this thread fetches in a round.
  ETC_DEVICE int Slot(int round) const { return int(piece_ / 128) + round * Shape::kRoundColumns; }

  /// The next task is one with these rows. Nothing was fetched for it, and all threads are done
  /// with the stages.
  ETC_DEVICE void Begin(const Args& args, const Rows& rows) {
    CopyWait<0>();
    next_ = rows;
    fetched_ = kTaskStages;
    u32 stage = stage_;
#pragma unroll
    for (int i = 0; i + 1 < Shape::kStages; ++i) {
      Fetch(args, stage);
      stage = Behind(stage);
    }
  }
  /// Before a task is multiplied: how many columns it has.
  ETC_DEVICE int Number() const { return int(rows_.number); }
  /// Then: the one behind it has these rows.
  ETC_DEVICE void SetNext(const Rows& rows) { next_ = rows; }

  /// Starts to bring the next activations, to a stage.
  ETC_DEVICE void Fetch(const Args&, u32 stage) {
    if (fetched_ == kTaskStages) {
      fetched_ = 0;
      rows_ = next_;
    }
    const bf16* from = x_ + fetched_ / Shape::kChunkStages * Shape::kSlotDepth +
                       fetched_ % Shape::kChunkStages * Shape::kUnits * Shape::kUnit;
#pragma unroll
    for (int unit = 0; unit < Shape::kUnits; ++unit) {
      bool has = !Shape::kRagged || HasNext(unit);
#pragma unroll
      for (int round = 0; round < Shape::kRounds; ++round) {
        u32 piece = stage + piece_ + unit * Shape::kUnitBytes + round * Shape::kRoundColumns * 128;
        if (round == 0 || int(rows_.number) > kFewColumns) {
          CopyPiece(piece, from + i64(rows_.row[round]) * Shape::kDepth + unit * Shape::kUnit,
                    has && Slot(round) < int(rows_.number));
        }
      }
    }
    CopyCommit();
    ++fetched_;
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
  const bf16* x_;
  u32 first_stage_, stage_, piece_;
  int fetched_ = 0;  // stages of the task that is fetched
  Rows rows_, next_;

  ETC_DEVICE u32 Behind(u32 stage) const {
    constexpr u32 last = (Shape::kStages - 1) * Shape::kStageBytes;
    return stage == first_stage_ + last ? first_stage_ : stage + Shape::kStageBytes;
  }
  /// Whether the k of this thread's pieces of a unit of the next stage are before the end.
  ETC_DEVICE bool HasNext(int unit) const {
    int stage = fetched_ % Shape::kChunkStages * Shape::kUnits + unit;
    int in_unit = int(piece_ / 16 ^ piece_ / 128) % 8 * 8;
    return Shape::Has(fetched_ / Shape::kChunkStages, FirstK() + stage * Shape::kUnit + in_unit);
  }
};

}  // namespace etc
