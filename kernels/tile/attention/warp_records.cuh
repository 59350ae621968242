// What the warps of a CTA hand to each other when a task of attention ends: of some heads at a time
// the record of each warp, in shared memory.
#pragma once

#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"
#include "tile/attention/attention_tile.cuh"

namespace etc {

/// Records of so many heads of a group, an even number, by so many warps, which have the heads of
/// one block. Heads come in pairs, since a lane has two; between the pairs of a warp is a gap,
/// which puts them into different banks. Where the group has several blocks, each warp has one of
/// them, by turns.
template <int kDim, int kGroup>
struct WarpRecords {
  using Blocks = HeadBlocks<kGroup>;
  static constexpr int kHeadBytes = AttentionState<kDim>::kRecord * 4;
  static constexpr int kPairBytes = 2 * kHeadBytes + 8;

  static __host__ __device__ constexpr int Bytes(int heads, int warps) {
    return warps * heads / 2 * kPairBytes;
  }

  u32 address;  // shared, a multiple of 8
  int heads, warps;

  /// The heads from `first` on, which is even, of this warp, one of those with records. Its lanes
  /// are merged.
  ETC_DEVICE void Store(const AttentionState<kDim>& state, const Consumer& consumer,
                        int first) const {
    int pair = consumer.lane % 4 - first / 2 + Blocks::First(consumer.warp) / 2;
    if (pair >= 0 && pair < heads / 2) {
      state.Store(address + Bytes(heads, Blocks::Place(consumer.warp)) + pair * kPairBytes,
                  consumer.lane);
    }
  }

  /// Joins what the warps found to the sums, for neighbouring elements from d on, and to the weight
  /// of a softmax with the largest score `top`. `head` counts from the first that was stored. The
  /// warps are a multiple of kAtOnce, which are joined together.
  template <int kAtOnce, int run>
  ETC_DEVICE void Join(int head, int d, float& top, float (&sums)[run], float& weight) const {
    u32 record = address + head / 2 * kPairBytes + head % 2 * kHeadBytes;
#pragma unroll 1
    for (int warp = 0; warp < warps; warp += kAtOnce) {
      JoinSome<kAtOnce>(record + Bytes(heads, warp), d, top, sums, weight);
    }
  }

 private:
  template <int kAtOnce, int run>
  ETC_DEVICE void JoinSome(u32 record, int d, float& top, float (&sums)[run], float& weight) const {
    const int warp_bytes = Bytes(heads, 1);
    float scores[kAtOnce][2];  // the largest, and the sum of the exponentials
    float old = top;
#pragma unroll
    for (int warp = 0; warp < kAtOnce; ++warp) {
      LoadShared(record + warp * warp_bytes + kDim * 4, scores[warp]);
      top = fmaxf(top, scores[warp][0]);
    }
    float correction = SoftmaxFactor(old, top);
    weight *= correction;
#pragma unroll
    for (int i = 0; i < run; ++i) {
      sums[i] *= correction;
    }
#pragma unroll
    for (int warp = 0; warp < kAtOnce; ++warp) {
      float factor = SoftmaxFactor(scores[warp][0], top);
      weight = fmaf(factor, scores[warp][1], weight);
      float elements[run];
      LoadShared(record + warp * warp_bytes + d * 4, elements);
#pragma unroll
      for (int i = 0; i < run; ++i) {
        sums[i] = fmaf(factor, elements[i], sums[i]);
      }
    }
  }
};

}  // namespace etc
