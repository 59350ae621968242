// The activations of a BatchTileGemm, by tensor copies: the consumers bring boxes of them from L2
// to stages of their own, some steps ahead of the tensor cores. So the ring has weights alone,
// which are on their way before the activations are made. Each of two warpgroups has half of the
// sequences, and waits for nothing of the other.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/registers.cuh"
#include "arch/sm90/tensor_copy.cuh"
#include "engine/roles.cuh"

namespace etc {

/// Of up to 128 sequences, 64 k in a step. Where it `goes_on`, all tasks have the same steps, and
/// those of the next one follow.
template <class Args, bool goes_on>
class BatchTileActivations {
 public:
  static constexpr int kGroupSequences = 64;
  static constexpr int kStep = 64, kRowBytes = kStep * 2;
  static constexpr int kSteps = DivideUp(int(Args::x_1), kStep);

 private:
  static constexpr int kStages = 4;
  static constexpr int kStageBytes = kGroupSequences * kRowBytes;
  static constexpr int kBoxRows = Args::x_box_0, kBoxBytes = kBoxRows * kRowBytes;
  static_assert(kBoxRows % 8 == 0 && kGroupSequences % kBoxRows == 0 && Args::x_box_1 == kStep,
                "a box of `x` is a part of [64, 64]");
  static constexpr int kGroupThreads = 128;
  static constexpr int kAtomBytes = 1024;
  static constexpr int kStagesBytes = 2 * kStages * kStageBytes;
  static constexpr int kFirstBarrier = 4;  // a hardware barrier for each warpgroup

 public:
  static constexpr int kScratchBytes = kAtomBytes + kStagesBytes + 2 * kStages * 8;

  int group;  // this thread's warpgroup

  /// For all consumers, behind their waits.
  ETC_DEVICE BatchTileActivations(Consumer& consumer, const Args& args)
      : group(Opaque(consumer.warp) / 4),
        leads_(consumer.thread % kGroupThreads == 0),
        issues_(consumer.warp % 4 == 0) {
    u32 stages = (SharedAddress(consumer.scratch) + kAtomBytes - 1) / kAtomBytes * kAtomBytes;
    first_stage_ = stages + group * kStages * kStageBytes;
    first_barrier_ = stages + kStagesBytes + group * kStages * 8;
    int sequences = int(args.x_0) - group * kGroupSequences;
    boxes_ = DivideUp(max(0, min(sequences, kGroupSequences)), kBoxRows);
    if (leads_) {
#pragma unroll
      for (int stage = 0; stage < kStages; ++stage) {
        BarrierInit(first_barrier_ + stage * 8, 1);
      }
      BarrierInitFence();
    }
    CopyFence();  // of what is in the stages, too
    consumer.Sync();
  }

  /// Waits for what is on its way to nobody.
  ETC_DEVICE ~BatchTileActivations() {
#pragma unroll
    for (int i = 0; goes_on && i + 1 < kStages; ++i) {
      Wait();
      Next();
    }
    Sync();
    if (leads_) {
#pragma unroll
      for (int stage = 0; stage < kStages; ++stage) {
        BarrierInvalidate(first_barrier_ + stage * 8);
      }
    }
  }

  /// Fetches the first of these steps, which come next, and waits for it.
  ETC_DEVICE void Begin(const Consumer& consumer, const Args& args, int first, int end) {
    next_ = fetched_ = first;
    end_ = end;
#pragma unroll
    for (int i = 0; i + 1 < kStages; ++i) {
      Fetch(consumer, args, (stage_ + i) % kStages);
    }
    Wait();
  }

  /// The shared address of the next step's activations, which are there.
  ETC_DEVICE u32 Stage() const { return first_stage_ + stage_ * kStageBytes; }
  /// Once a warp's instructions of that step are issued and those of the step before are done:
  /// waits until this is so for the whole warpgroup, fetches another step, and waits for the one
  /// behind.
  ETC_DEVICE void Advance(const Consumer& consumer, const Args& args) {
    Sync();
    Fetch(consumer, args, (stage_ + kStages - 1) % kStages);
    Next();
    ++next_;
    if (goes_on || next_ < end_) {
      Wait();
    }
  }

 private:
  bool leads_, issues_;  // of this warpgroup's threads, and of its warps
  u32 first_stage_, first_barrier_;
  int boxes_;
  u32 stage_ = 0, parity_ = 0;
  int next_ = 0, fetched_ = 0, end_ = 0;  // steps: to be multiplied, to be fetched, and their end

  ETC_DEVICE void Sync() const { NamedBarrierSync<kGroupThreads>(kFirstBarrier + group); }
  ETC_DEVICE void Wait() const { BarrierWait(first_barrier_ + stage_ * 8, parity_); }
  ETC_DEVICE void Next() {
    ++stage_;
    if (stage_ == kStages) {
      stage_ = 0;
      parity_ ^= 1;
    }
  }

  /// By one warp. Rows of a box that have no sequence take the copy engine longer than others, so
  /// that there are no boxes without any.
  ETC_DEVICE void Fetch(const Consumer& consumer, const Args& args, u32 stage) {
    if (issues_ && (goes_on || fetched_ < end_)) {
      u32 barrier = first_barrier_ + stage * 8;
      if (consumer.lane == 0) {
        BarrierArriveExpect(barrier, boxes_ * kBoxBytes);
      }
      __syncwarp();
#pragma unroll
      for (int box = 0; box < kGroupSequences / kBoxRows; ++box) {
        if (box < boxes_) {
          TensorCopyElected(first_stage_ + stage * kStageBytes + box * kBoxBytes, args.x_map,
                            fetched_ * kStep, group * kGroupSequences + box * kBoxRows,
                            args.x_slice, barrier);
        }
      }
    }
    fetched_ = goes_on && fetched_ + 1 == kSteps ? 0 : fetched_ + 1;
  }
};

}  // namespace etc
