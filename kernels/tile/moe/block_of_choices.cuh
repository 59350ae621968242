// What the two steps by which many tokens are listed share: MarkChoices and ListMarked.
#pragma once

#include "arch/sm90/memory.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

/// The choices of block w, of 32 tokens or those that are left, on their way at once. None where
/// there is no such block.
template <int top>
class BlockOfChoices {
  static constexpr int kRounds = DivideUp(32 * top, Consumer::kThreads);

 public:
  template <class Args>
  ETC_DEVICE BlockOfChoices(const Consumer& consumer, const Args& args, int w)
      : number_(min(32, int(args.chosen_0) - w * 32) * top) {
    const u32* chosen = reinterpret_cast<const u32*>(args.chosen) + i64(w) * 32 * top;
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      int i = round * Consumer::kThreads + consumer.thread;
      held_[round] = 0;
      LoadRelaxedIf(held_[round], chosen + i, i < number_);
    }
  }

  /// body(i, expert) for those of this thread: i counts from the block's first one.
  template <class Body>
  ETC_DEVICE void ForEach(const Consumer& consumer, Body body) const {
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      int i = round * Consumer::kThreads + consumer.thread;
      if (i < number_) {
        body(i, int(held_[round]));
      }
    }
  }

 private:
  int number_;
  u32 held_[kRounds];
};

}  // namespace etc
