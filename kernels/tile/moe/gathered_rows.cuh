// The rows of a place's tokens, wherever these stand, as the tensor cores' operand a: pieces of 16
// bytes are fetched from L2 into stages some steps ahead, and on into the next task, whose rows are
// other ones. Each of the two warpgroups has half of the rows, and waits for nothing of the other.
#pragma once

#include "arch/sm90/copy.cuh"
#include "arch/sm90/mbarrier.cuh"
#include "arch/sm90/registers.cuh"
#include "arch/sm90/wgmma.cuh"
#include "engine/roles.cuh"
#include "tile/moe/listed_rows.cuh"

namespace etc {

/// Of rows of kDepth elements, 64 of them in a step.
template <int kDepth>
class GatheredRows {
 public:
  static constexpr int kGroupRows = 64;  // of a warpgroup
  static constexpr int kStep = 64;
  static constexpr int kSteps = DivideUp(kDepth, kStep);
  static constexpr int kStages = 5;
  static constexpr int kAtomBytes = 1024;
  static constexpr int kScratchBytes = kAtomBytes + 2 * kStages * kGroupRows * kStep * 2;
  /// Whether what is fetched ahead is of the task and the next one alone.
  static constexpr bool kLooksAhead = kSteps >= kStages - 1;

 private:
  static constexpr int kThreads = 128;
  static constexpr int kStageBytes = kGroupRows * kStep * 2;
  static constexpr int kRoundRows = kThreads / 8;  // eight threads fetch a row
  static constexpr int kRounds = kGroupRows / kRoundRows;
  static constexpr int kFirstBarrier = 4;  // a hardware barrier for each warpgroup

 public:
  using Rows = ListedRows<kRounds>;

  int group;  // this thread's warpgroup

  ETC_DEVICE GatheredRows(const Consumer& consumer, const bf16* x) {
    group = Opaque(consumer.warp) / 4;
    u32 scratch = SharedAddress(consumer.scratch);
    stage_ = first_stage_ =
        (scratch + kAtomBytes - 1) / kAtomBytes * kAtomBytes + group * kStages * kStageBytes;
    int fetcher = Opaque(consumer.thread) % kThreads;
    int row = fetcher / 8, piece = fetcher % 8;
    x_ = x + piece * 8;
    piece_ = row * 128 + (piece ^ row % 8) * 16;
  }

  ETC_DEVICE ~GatheredRows() { CopyWait<0>(); }

  /// The slot of a place, a task's row, that this thread fetches in a round.
  ETC_DEVICE int Slot(int round) const {
    return group * kGroupRows + int(piece_ / 128) + round * kRoundRows;
  }
  /// How many rows the task has whose first steps are fetched.
  ETC_DEVICE int Number() const { return int(rows_.number); }

  /// The next task is one with these rows. Nothing was fetched for it, or other ones were.
  ETC_DEVICE void Begin(const Rows& rows) {
    CopyWait<0>();
    Sync();  // all are done with the stages
    next_ = rows;
    fetched_ = kSteps;
    u32 stage = stage_;
#pragma unroll
    for (int i = 0; i + 1 < kStages; ++i) {
      Fetch(stage);
      stage = Behind(stage);
    }
    Arrive();
  }
  /// The task behind the next one has these rows.
  ETC_DEVICE void SetNext(const Rows& rows) { next_ = rows; }

  /// The stage of the next step, which has arrived.
  ETC_DEVICE u32 Stage() const { return stage_; }
  /// Once a warp's instructions of that step are issued and those of the step before are done:
  /// waits until this is so for all warps and the step behind has arrived, and fetches another one.
  ETC_DEVICE void Advance() {
    u32 free = stage_ == first_stage_ ? stage_ + (kStages - 1) * kStageBytes : stage_ - kStageBytes;
    Arrive();
    Fetch(free);
    stage_ = Behind(stage_);
  }

 private:
  const bf16* x_;
  u32 first_stage_, stage_, piece_;
  int fetched_ = 0;  // steps of the task that is fetched
  Rows rows_, next_;

  ETC_DEVICE u32 Behind(u32 stage) const {
    return stage == first_stage_ + (kStages - 1) * kStageBytes ? first_stage_ : stage + kStageBytes;
  }
  ETC_DEVICE void Sync() const { NamedBarrierSync<kThreads>(kFirstBarrier + group); }

  /// All but the newest fetched stages are there, for all warps of the warpgroup.
  ETC_DEVICE void Arrive() const {
    CopyWait<kStages - 3>();
    WgmmaSharedFence();
    Sync();
  }

  /// Starts to bring the next step's pieces. What has no row stays as it is: nobody stores its
  /// sums.
  ETC_DEVICE void Fetch(u32 stage) {
    if (fetched_ == kSteps) {
      fetched_ = 0;
      rows_ = next_;
    }
    // Behind the end of k there are zeros.
    bool exists =
        kDepth % kStep == 0 || fetched_ * kStep + (piece_ / 16 ^ piece_ / 128) % 8 * 8 < kDepth;
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      if (Slot(round) < int(rows_.number)) {
        CopyPiece(stage + piece_ + round * kRoundRows * 128,
                  x_ + i64(rows_.row[round]) * kDepth + fetched_ * kStep, exists);
      }
    }
    CopyCommit();
    ++fetched_;
  }
};

}  // namespace etc
