// What the operators that norm rows share.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

ETC_OPTION(NormOffset, norm_offset, float, 0);  // added to the weights

/// Hints to L2 for the `depth` weights of a norm, by all consumer threads.
ETC_DEVICE void PrefetchNorm(const Consumer& consumer, const bf16* norm, int depth) {
  constexpr int line = 64;  // elements of 128 bytes
  for (int k = consumer.thread * line; k < depth; k += Consumer::kThreads * line) {
    PrefetchLine(norm + k);
  }
}

/// The rounds in which all consumer threads go through a row of `depth` elements, four side by side
/// for each thread.
constexpr int kNormRoundDepth = Consumer::kThreads * 4;
template <int depth>
inline constexpr int kNormRounds = DivideUp(depth, kNormRoundDepth);

/// Calls body(round, k) for each four of a row's elements that this thread has.
template <int depth, class Body>
ETC_DEVICE void ForRounds(const Consumer& consumer, Body body) {
#pragma unroll
  for (int round = 0; round < kNormRounds<depth>; ++round) {
    int k = round * kNormRoundDepth + consumer.thread * 4;
    if (depth % kNormRoundDepth == 0 || k < depth) {
      body(round, k);
    }
  }
}

/// Waits for all words of a row: calls fetch(round, k, missing), which sets `missing` where a word
/// was, until none is. All that is missing is fetched again together: a wait for each run would
/// cost a way to L2 for each.
template <int depth, class Fetch>
ETC_DEVICE void AwaitRow(const Consumer& consumer, Fetch fetch) {
  bool missing;
  do {
    missing = false;
    ForRounds<depth>(consumer, [&](int round, int k) { fetch(round, k, missing); });
  } while (AnyLane(missing));
}

/// Sums over all consumer threads, through scratch, of which two halves are used by turns: one
/// barrier for each sum.
class SumOfAll {
 public:
  static constexpr int kScratchBytes = 2 * Consumer::kWarps * 4;

  /// By addresses of 32 bits: NVRTC makes 64 of a pointer to shared memory, and kernels that are
  /// short of registers spill for it.
  ETC_DEVICE float Sum(Consumer& consumer, float value) {
    const u32 sums = SharedAddress(consumer.scratch) + parity_ * Consumer::kWarps * 4;
    parity_ ^= 1;
    value = GroupSum<32>(value);
    if (consumer.lane == 0) {
      StoreShared(sums + consumer.warp * 4, value);
    }
    consumer.Sync();
    float sum = 0;
    static_assert(Consumer::kWarps % 4 == 0, "warps come in groups of four");
#pragma unroll
    for (int warp = 0; warp < Consumer::kWarps; warp += 4) {
      float parts[4];
      LoadShared(sums + warp * 4, parts);
#pragma unroll
      for (float part : parts) {
        sum += part;
      }
    }
    return sum;
  }

 private:
  int parity_ = 0;
};

}  // namespace etc
