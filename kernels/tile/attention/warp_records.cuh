// What the warps of a CTA hand to each other when a task of attention ends: of some heads at a time
// the record of each warp, in shared memory.
#pragma once

#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"
#include "tile/attention/attention_tile.cuh"

namespace etc {

/// Records of kHeads heads of a group, an even number. Heads come in pairs, since a lane has two;
/// between the pairs of a warp is a gap, which puts them into different banks. Where the group has
/// several blocks, each warp has one of them, by turns.
template <int kDim, int kHeads, int kGroup>
struct WarpRecords {
  static_assert(kHeads % 2 == 0, "a lane has two heads");
  using Blocks = HeadBlocks<kGroup>;
  static_assert(Blocks::kCount == 1 || Blocks::kHeads % kHeads == 0, "heads of one block");
  static constexpr int kWarps = Consumer::kWarps / Blocks::kCount;  // that have a head
  static constexpr int kHeadBytes = AttentionState<kDim>::kRecord * 4;
  static constexpr int kPairBytes = 2 * kHeadBytes + 8;
  static constexpr int kWarpBytes = kHeads / 2 * kPairBytes;
  static constexpr int kBytes = kWarps * kWarpBytes;

  u32 address;  // shared, a multiple of 8

  /// The heads from `first` on, which is even, of this warp. Its lanes are merged.
  ETC_DEVICE void Store(const AttentionState<kDim>& state, const Consumer& consumer,
                        int first) const {
    int pair = consumer.lane % 4 - first / 2 + Blocks::First(consumer.warp) / 2;
    if (pair >= 0 && pair < kHeads / 2) {
      state.Store(address + consumer.warp / Blocks::kCount * kWarpBytes + pair * kPairBytes,
                  consumer.lane);
    }
  }

  /// Joins what all warps found to the sums, for neighbouring elements from d on, and to the weight
  /// of a softmax with the largest score `top`. `head` counts from the first that was stored.
  template <int run>
  ETC_DEVICE void Join(int head, int d, float& top, float (&sums)[run], float& weight) const {
    u32 record = address + head / 2 * kPairBytes + head % 2 * kHeadBytes;
    float scores[kWarps][2];  // the largest, and the sum of the exponentials
    float old = top;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      LoadShared(record + warp * kWarpBytes + kDim * 4, scores[warp]);
      top = fmaxf(top, scores[warp][0]);
    }
    float correction = SoftmaxFactor(old, top);
    weight *= correction;
#pragma unroll
    for (int i = 0; i < run; ++i) {
      sums[i] *= correction;
    }
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      float factor = SoftmaxFactor(scores[warp][0], top);
      weight = fmaf(factor, scores[warp][1], weight);
      float elements[run];
      LoadShared(record + warp * kWarpBytes + d * 4, elements);
#pragma unroll
      for (int i = 0; i < run; ++i) {
        sums[i] = fmaf(factor, elements[i], sums[i]);
      }
    }
  }
};

}  // namespace etc
