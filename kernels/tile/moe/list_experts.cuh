// The lists of the experts that a step uses, from the experts of each token: tokens are listed, not
// moved.
//
// chosen [B, top] has the experts of each token, none of them twice. An expert's tokens, in
// ascending order, take the slots of as many places of G slots as they fill, and the places of the
// experts follow each other: used [P] says whose a place is, count [P] how many of its slots are
// taken, n_used [1] how many places there are, token [P * G] the token of each slot, and slot [B,
// top] where each choice of each token is. What has no token is 0. One task makes all of it.
//
//   tokens of an expert  a bit for each, which the warps find by votes
//   rank in its list     the number of bits before a token's
//
// Config: max_batch.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
class ListExperts {
  static constexpr int kRows = int(Config::max_batch);
  static constexpr int kTop = int(Args::chosen_1);
  static constexpr int kExperts = int(Config::experts);
  static constexpr int kPlaces = int(Args::used_0);
  static constexpr int kSlots = int(Args::token_0) / kPlaces;  // of a place
  static constexpr int kWords = DivideUp(kRows, 32);

  struct Scratch {
    u32 tokens[kExperts][kWords];             // a bit for each
    unsigned short before[kExperts][kWords];  // tokens in the words before
    int number[kExperts];                     // of tokens
    int first[kExperts + 1];                  // place
  };

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = int(sizeof(Scratch));

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE ListExperts(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int) {
    Scratch& scratch = *reinterpret_cast<Scratch*>(consumer.scratch);
    int rows = int(args.chosen_0);
    int words = DivideUp(rows, 32);
    Clear(consumer, args);
    Vote(consumer, args, scratch, rows, words);
    consumer.Sync();
    Count(consumer, scratch, words);
    consumer.Sync();
    AssignPlaces(consumer, scratch);
    consumer.Sync();
    StorePlaces(consumer, args, scratch);
    StoreSlots(consumer, args, scratch, rows);
  }

 private:
  static ETC_DEVICE void Clear(const Consumer& consumer, const Args& args) {
#pragma unroll 1
    for (int i = consumer.thread; i < kPlaces * kSlots; i += Consumer::kThreads) {
      args.token[i] = 0;
    }
#pragma unroll 1
    for (int u = consumer.thread; u < kPlaces; u += Consumer::kThreads) {
      args.used[u] = 0;
      args.count[u] = 0;
    }
  }

  /// A warp has the tokens of a word, a lane one of them.
  static ETC_DEVICE void Vote(const Consumer& consumer, const Args& args, Scratch& scratch,
                              int rows, int words) {
#pragma unroll 1
    for (int word = consumer.warp; word < words; word += Consumer::kWarps) {
      int b = word * 32 + consumer.lane;
      int chosen[kTop];
#pragma unroll
      for (int s = 0; s < kTop; ++s) {
        chosen[s] = b < rows ? int(LoadRelaxed(Chosen(args) + b * kTop + s)) : -1;
      }
#pragma unroll 1
      for (int e = 0; e < kExperts; ++e) {
        bool mine = false;
#pragma unroll
        for (int s = 0; s < kTop; ++s) {
          mine |= chosen[s] == e;
        }
        u32 bits = __ballot_sync(0xffffffffu, mine);
        if (consumer.lane == 0) {
          scratch.tokens[e][word] = bits;
        }
      }
    }
  }

  static ETC_DEVICE void Count(const Consumer& consumer, Scratch& scratch, int words) {
#pragma unroll 1
    for (int e = consumer.thread; e < kExperts; e += Consumer::kThreads) {
      int number = 0;
#pragma unroll 1
      for (int word = 0; word < words; ++word) {
        scratch.before[e][word] = (unsigned short)(number);
        number += __popc(scratch.tokens[e][word]);
      }
      scratch.number[e] = number;
    }
  }

  static ETC_DEVICE void AssignPlaces(const Consumer& consumer, Scratch& scratch) {
#pragma unroll 1
    for (int e = consumer.thread; e <= kExperts; e += Consumer::kThreads) {
      int first = 0;
#pragma unroll 4
      for (int other = 0; other < e; ++other) {
        first += DivideUp(scratch.number[other], kSlots);
      }
      scratch.first[e] = first;
    }
  }

  static ETC_DEVICE void StorePlaces(const Consumer& consumer, const Args& args,
                                     const Scratch& scratch) {
#pragma unroll 1
    for (int e = consumer.thread; e < kExperts; e += Consumer::kThreads) {
      int left = scratch.number[e];
#pragma unroll 1
      for (int u = scratch.first[e]; left > 0; ++u, left -= kSlots) {
        args.used[u] = e;
        args.count[u] = min(left, kSlots);
      }
    }
    if (consumer.thread == 0) {
      args.n_used[0] = scratch.first[kExperts];
    }
  }

  static ETC_DEVICE void StoreSlots(const Consumer& consumer, const Args& args,
                                    const Scratch& scratch, int rows) {
#pragma unroll 1
    for (int i = consumer.thread; i < rows * kTop; i += Consumer::kThreads) {
      int b = i / kTop;
      int e = int(LoadRelaxed(Chosen(args) + i));
      u32 earlier = scratch.tokens[e][b / 32] & ((1u << b % 32) - 1);
      int slot = scratch.first[e] * kSlots + scratch.before[e][b / 32] + __popc(earlier);
      args.slot[i] = slot;
      args.token[slot] = b;
    }
  }

  static ETC_DEVICE const u32* Chosen(const Args& args) {
    return reinterpret_cast<const u32*>(args.chosen);
  }
};

}  // namespace etc
