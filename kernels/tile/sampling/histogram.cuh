// How many tokens and how much weight are in each of up to 256 bins, and sums over all threads of
// such amounts. A thread has the bin of its number.
#pragma once

#include "arch/sm90/mbarrier.cuh"
#include "arch/sm90/shared_add.cuh"
#include "tile/sampling/scores.cuh"

namespace etc {

struct Amount {
  u64 mass = 0;
  u32 count = 0;

  ETC_DEVICE void Add(const Amount& other) {
    mass += other.mass;
    count += other.count;
  }
  ETC_DEVICE u64 Of(bool by_count) const { return by_count ? u64(count) : mass; }
};

class Histogram {
 public:
  static constexpr int kBins = 256;
  static_assert(Consumer::kThreads >= kBins, "each bin has a thread");
  /// A weight has three parts of 14 bits, and so many of them fit into a word.
  static constexpr int kMostTokens = 1 << 18;
  struct Scratch {
    u32 count[kBins], low[kBins], middle[kBins], high[kBins];
  };

  ETC_DEVICE Histogram(const Consumer& consumer, Scratch& scratch)
      : scratch_(scratch), address_(SharedAddress(&scratch)), bin_(consumer.thread) {}

  /// Before and behind it a barrier of all threads: the words of this thread's bin.
  ETC_DEVICE void Clear() {
    if (bin_ < kBins) {
      scratch_.count[bin_] = scratch_.low[bin_] = scratch_.middle[bin_] = scratch_.high[bin_] = 0;
    }
  }
  ETC_DEVICE void Add(int bin, i32 distance) {
    u64 weight = WeightOf(distance);
    u32 word = address_ + u32(bin) * 4;
    AddShared(word, 1);
    AddShared(word + kBins * 4, u32(weight) & 0x3fff);
    AddShared(word + kBins * 8, u32(weight >> 14) & 0x3fff);
    AddShared(word + kBins * 12, u32(weight >> 28));
  }
  /// What this thread's bin has.
  ETC_DEVICE Amount Own() const {
    Amount own;
    if (bin_ < kBins) {
      own.count = scratch_.count[bin_];
      own.mass = u64(scratch_.low[bin_]) + (u64(scratch_.middle[bin_]) << 14) +
                 (u64(scratch_.high[bin_]) << 28);
    }
    return own;
  }

 private:
  Scratch& scratch_;
  u32 address_;
  int bin_;
};

/// The amounts of all threads before this one, and of all; for all threads, with a barrier before
/// `warps` is used again.
ETC_DEVICE Amount BeforeThis(Consumer& consumer, Amount (&warps)[Consumer::kWarps],
                             const Amount& own, Amount& total) {
  Amount sum = own;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    int from = max(consumer.lane - offset, 0);
    Amount other;
    other.mass = __shfl_sync(0xffffffffu, sum.mass, from);
    other.count = __shfl_sync(0xffffffffu, sum.count, from);
    if (consumer.lane >= offset) {
      sum.Add(other);
    }
  }
  if (consumer.lane == 31) {
    warps[consumer.warp] = sum;
  }
  consumer.Sync();
  Amount before;
  before.mass = sum.mass - own.mass;
  before.count = sum.count - own.count;
  total = Amount{};
#pragma unroll
  for (int warp = 0; warp < Consumer::kWarps; ++warp) {
    if (warp == consumer.warp) {
      before.Add(total);
    }
    total.Add(warps[warp]);
  }
  consumer.Sync();
  return before;
}

}  // namespace etc
