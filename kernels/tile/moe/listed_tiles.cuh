// The two GEMMs of the experts whose tokens are in lists, for so many tokens that the tensor cores
// decide the time: gate and up of the slots of each place, and down, in tiles of 128 slots and 256
// rows of weights. The slots' rows lie one behind the other (GatherTokens), so tensor copies bring
// them. The weights come as their layout stores them, tile by tile, and the tensor cores read both
// operands in the ring.
//
//   task (u, m)        the 128 slots of place u, and the expert's rows of weights from m * 256 on;
//                      of gate and up each 128 from m * 128 on
//   ring slot          64 k: a box of 128 slots, and 32 times 8 rows of weights in two tiles each
//   MMA                wgmma m64n256k16: slots are the M side, 64 for each of two warpgroups; a
//                      thread has 128 sums, and finds gate and up of an output in its own
//   places             those from n_used on have none, and their tasks do nothing; of one with 64
//                      slots or fewer the second warpgroup multiplies nothing
//
// Config: none. Args of TiledGateUp: x [P * 128, K] in boxes [128, 64], used [P], n_used [1], count
// [P], w_gate and w_up [E, F, K] in swizzled tiles, y bf16 [P * 128, F]. Of TiledDown: x, used,
// n_used, count, w [E, N, K] in swizzled tiles, y f32 [P * 128, N]. K is a multiple of 64, F and N
// are of 8.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/descriptor.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/tensor_copy.cuh"
#include "arch/sm90/wgmma_shared.cuh"
#include "engine/layout.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/ring_products.cuh"
#include "tile/gemm/weights.cuh"
#include "tile/moe/used_experts.cuh"

namespace etc {

/// Both of them. Weights<Args> says how many outputs a row has, where eight rows of a task's
/// weights begin, and how the sums of a task become outputs.
template <class Args, class Weights>
class ListedTile {
  static constexpr int kSlots = Args::x_box_0;
  static constexpr int kStep = Args::x_box_1;  // k of a ring slot
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kColumns = 256;
  static constexpr int kGroups = kColumns / kTileRows;
  static_assert(kSlots == 128 && kStep == 64, "the boxes of `x` are [128, 64]");
  static_assert(kDepth % kStep == 0, "k is a multiple of 64");
  static_assert(Weights::kOutputs % kTileRows == 0, "the outputs are a multiple of 8");
  static_assert(Consumer::kWarps == 8, "the consumers are two warpgroups");

  static constexpr int kBoxBytes = kSlots * kStep * 2;
  static constexpr int kGroupBytes = kTileRows * kStep * 2;  // two tiles
  static constexpr int kSteps = kDepth / kStep;

 public:
  static constexpr int kSlotBytes = kBoxBytes + kGroups * kGroupBytes;
  static constexpr int kScratchBytes = 0;

  class Source {
   public:
    ETC_DEVICE Source(Loader& loader, const Args& args) : experts_(loader, args) {}

    ETC_DEVICE void Load(Loader& loader, const Args& args, int u, int m) {
      if (u >= experts_.Number()) {
        return;
      }
      const Weights weights(args, experts_.At(u), m);
#pragma unroll 1
      for (int step = 0; step < kSteps; ++step) {
        u32 slot = loader.Acquire();
        loader.Expect(kBoxBytes + weights.Groups() * kGroupBytes);
        TensorCopyElected(slot, args.x_map, step * kStep, u * kSlots, args.x_slice,
                          loader.ring.Full());
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
          if (Weights::kEven || weights.Has(group)) {
            loader.Copy(slot + kBoxBytes + group * kGroupBytes,
                        weights.Group(group) + step * kStep * kTileRows, kGroupBytes);
          }
        }
        loader.Advance();
      }
    }

   private:
    UsedExperts<Args> experts_;
  };

  ETC_DEVICE ListedTile(Consumer& consumer, const Args&) : number_(TakeNumberOfExperts(consumer)) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int u, int m) {
    if (u >= number_) {
      return;
    }
    int first = consumer.warp / 4 * 64;
    int count = int(LoadRelaxed(reinterpret_cast<const u32*>(args.count) + u));
    if (first >= count) {
      PassOver(consumer);
      return;
    }
    float sums[kColumns / 2];
    Multiply(consumer, first, sums);
    // This thread's rows are two of its warp's 16.
    int row = first + consumer.warp % 4 * 16 + consumer.lane / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (row + half * 8 < count) {
        Weights::Store(args, i64(u) * kSlots + row + half * 8, m, consumer.lane % 4 * 2, half,
                       sums);
      }
    }
  }

 private:
  int number_;

  /// Of a task without a slot for this warpgroup.
  static ETC_DEVICE void PassOver(Consumer& consumer) {
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
      consumer.WaitAddress();
      Ring used = consumer.ring;
      consumer.ring.Advance();
      GiveBack(consumer, used);
    }
  }

  static ETC_DEVICE void Multiply(Consumer& consumer, int first, float (&sums)[kColumns / 2]) {
    MultiplySlots<kSteps>(consumer, [&](u32 slot, int step) {
#pragma unroll
      for (int k = 0; k < kStep; k += 16) {
        u32 tile = slot + kBoxBytes + k / kTileColumns * kTileRows * kTileColumns * 2;
        WgmmaShared<kColumns>::Multiply(
            sums, WgmmaDescriptor(slot + first * kStep * 2 + k * 2),
            WgmmaTileDescriptor(tile + k % kTileColumns * 2, kGroupBytes), step > 0 || k > 0);
      }
    });
  }
};

/// 128 rows of `w_gate`, and the same of `w_up`.
template <class Args>
class TilesOfGateUp {
  static constexpr int kInner = int(Args::w_gate_1);
  static constexpr int kRows = 128;
  static_assert(gate_up::kTiled<Args> && gate_up::kSwizzled<Args>,
                "the weights are in swizzled tiles of 8 x 32");

 public:
  static constexpr int kOutputs = kInner;
  static constexpr bool kEven = kInner % kRows == 0;

  ETC_DEVICE TilesOfGateUp(const Args& args, int expert, int m)
      : gate_(args.w_gate + (i64(expert) * kInner + m * kRows) * Args::x_1),
        up_(args.w_up + (i64(expert) * kInner + m * kRows) * Args::x_1),
        groups_(min(kRows, kInner - m * kRows) / kTileRows) {}

  ETC_DEVICE int Groups() const { return 2 * groups_; }
  ETC_DEVICE bool Has(int group) const { return group % (kRows / kTileRows) < groups_; }
  ETC_DEVICE const bf16* Group(int group) const {
    constexpr int of_each = kRows / kTileRows;
    return (group < of_each ? gate_ : up_) + i64(group % of_each) * kTileRows * Args::x_1;
  }

  /// Two of each 8 outputs of a slot, from `column` on, which are in one half of the sums.
  static ETC_DEVICE void Store(const Args& args, i64 slot, int m, int column, int half,
                               const float (&sums)[kRows]) {
    bf16* outputs = args.y + slot * kInner + m * kRows + column;
#pragma unroll
    for (int group = 0; group < kRows / kTileRows; ++group) {
      if (kEven || m * kRows + group * kTileRows < kInner) {
        const float* gate = sums + group * 4 + half * 2;
        const float* up = gate + kRows / 2;
        *reinterpret_cast<u32*>(outputs + group * kTileRows) =
            PackBf16(Silu(gate[0]) * up[0], Silu(gate[1]) * up[1]);
      }
    }
  }

 private:
  const bf16* gate_;
  const bf16* up_;
  int groups_;
};

/// 256 rows of `w`.
template <class Args>
class TilesOfDown {
  static constexpr int kRows = 256;
  static_assert(plain::kTiled<Args> && plain::kSwizzled<Args>,
                "the weights are in swizzled tiles of 8 x 32");

 public:
  static constexpr int kOutputs = int(Args::w_1);
  static constexpr bool kEven = kOutputs % kRows == 0;

  ETC_DEVICE TilesOfDown(const Args& args, int expert, int m)
      : first_(args.w + (i64(expert) * kOutputs + m * kRows) * Args::x_1),
        groups_(min(kRows, kOutputs - m * kRows) / kTileRows) {}

  ETC_DEVICE int Groups() const { return groups_; }
  ETC_DEVICE bool Has(int group) const { return group < groups_; }
  ETC_DEVICE const bf16* Group(int group) const {
    return first_ + i64(group) * kTileRows * Args::x_1;
  }

  static ETC_DEVICE void Store(const Args& args, i64 slot, int m, int column, int half,
                               const float (&sums)[kRows / 2]) {
    struct alignas(8) Pair {
      float first, second;
    };
    float* outputs = args.y + slot * kOutputs + m * kRows + column;
#pragma unroll
    for (int group = 0; group < kRows / kTileRows; ++group) {
      if (kEven || m * kRows + group * kTileRows < kOutputs) {
        const float* sum = sums + group * 4 + half * 2;
        *reinterpret_cast<Pair*>(outputs + group * kTileRows) = {sum[0], sum[1]};
      }
    }
  }

 private:
  const bf16* first_;
  int groups_;
};

template <class Config, class Args>
struct TiledGateUp : ListedTile<Args, TilesOfGateUp<Args>> {
  using Base = ListedTile<Args, TilesOfGateUp<Args>>;
  using Base::Base;
};
template <class Config, class Args>
struct TiledDown : ListedTile<Args, TilesOfDown<Args>> {
  using Base = ListedTile<Args, TilesOfDown<Args>>;
  using Base::Base;
};

}  // namespace etc
