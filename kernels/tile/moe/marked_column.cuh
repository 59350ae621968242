// The tokens of one expert, from the marks that MarkChoices leaves.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

/// A column of marks [blocks, experts], bit i of word w for token 32 w + i. A warp goes through it,
/// a block to a lane.
template <int experts, int most_blocks>
struct MarkedColumn {
  static constexpr int kChunks = most_blocks < 128 ? DivideUp(most_blocks, 32) : 4;  // at once

  const u32* marks;
  int blocks;

  /// Stores the tokens whose rank among those of the column is at least `rank` and below `rank` +
  /// `count`.
  ETC_DEVICE void Store(const Consumer& consumer, i32* to, int rank, int count) const {
    int before = 0;
#pragma unroll 1
    for (int first = consumer.lane; first - consumer.lane < blocks; first += kChunks * 32) {
      u32 words[kChunks] = {};
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        int w = first + chunk * 32;
        LoadRelaxedIf(words[chunk], marks + i64(w) * experts, w < blocks);
      }
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        int number = __popc(words[chunk]);
        int end = before + SumUpToLane(consumer.lane, number);
        before = __shfl_sync(0xffffffffu, end, 31);
        StoreBlock(to, words[chunk], (first + chunk * 32) * 32, end - number - rank, count);
      }
    }
  }

 private:
  /// The tokens of a block from `token` on that are marked, of which the first has place j.
  static ETC_DEVICE void StoreBlock(i32* to, u32 word, int token, int j, int count) {
#pragma unroll 1
    for (; word != 0 && j < count; word &= word - 1, ++j) {
      if (j >= 0) {
        to[j] = token + __popc(~word & (word - 1));
      }
    }
  }
};

}  // namespace etc
