// Which tokens of each block of 32 go to which expert, where one task would have too many to list.
//
// Task (w): marks [W, E] gets at [w, e] a bit for each token of block w, bit i of token 32 w + i,
// which is set where the token has the expert e among its choices, chosen [B, top].
//
// Config: none. Args: chosen i32 [B, top], marks u32 [W, E].
#pragma once

#include "arch/sm90/memory.cuh"
#include "arch/sm90/shared_add.cuh"
#include "engine/roles.cuh"
#include "tile/moe/block_of_choices.cuh"

namespace etc {

template <class Config, class Args>
class MarkChoices {
  static constexpr int kTop = int(Args::chosen_1);
  static constexpr int kExperts = int(Args::marks_1);
  static constexpr int kThreads = Consumer::kThreads;

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 2 * kExperts * 4;  // by turns

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE MarkChoices(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int w) {
    u32* marks = reinterpret_cast<u32*>(consumer.scratch) + turn_ * kExperts;
    turn_ ^= 1;
    BlockOfChoices<kTop> choices(consumer, args, w);
#pragma unroll 1
    for (int e = consumer.thread; e < kExperts; e += kThreads) {
      marks[e] = 0;
    }
    consumer.Sync();
    choices.ForEach(consumer,
                    [&](int i, int e) { AddShared(SharedAddress(marks + e), 1u << i / kTop); });
    consumer.Sync();
#pragma unroll 1
    for (int e = consumer.thread; e < kExperts; e += kThreads) {
      args.marks[i64(w) * kExperts + e] = marks[e];
    }
  }

 private:
  int turn_ = 0;
};

}  // namespace etc
