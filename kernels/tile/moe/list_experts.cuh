// The lists of the experts that a step uses, from the experts of each token: tokens are listed, not
// moved.
//
// chosen [B, top] has the experts of each token, none of them twice. An expert's tokens, in
// ascending order, take the slots of as many places of G slots as they fill, and the places of the
// experts follow each other: used [P] says whose a place is, count [P] how many of its slots are
// taken, n_used [1] how many places there are, token [P * G] the token of each slot, and slot [B,
// top] where each choice of each token is. What has no token is 0. One task makes all of it. Of
// ranks that have `own` of the experts each, the lists have a rank's own alone, counted from its
// first one, and a choice of another has the slot P * G.
//
//   tokens of an expert  a bit for each, set by the threads of their choices: each sets its own, so
//                        that the order in which they do is no matter
//   rank in its list     the number of bits before a token's
//
// Config: experts, own, max_batch.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/shared_add.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
class ListExperts {
  static constexpr int kRows = int(Config::max_batch);
  static constexpr int kTop = int(Args::chosen_1);
  static constexpr int kExperts = int(Config::own);  // with lists
  static constexpr bool kIsPart = Config::own < Config::experts;
  static constexpr int kPlaces = int(Args::used_0);
  static constexpr int kSlots = int(Args::token_0) / kPlaces;  // of a place
  static constexpr int kWords = DivideUp(kRows, 32);
  static constexpr int kThreads = Consumer::kThreads;
  static constexpr int kChoices = DivideUp(kRows * kTop, kThreads);  // of a thread
  static constexpr bool kHeld = kChoices <= 4;  // in registers: else they are read again

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
    Choices choices(consumer, args, rows * kTop);
    Clear(consumer, args, scratch);
    consumer.Sync();
    choices.ForEach(consumer, [&](int i, int e) {
      int b = i / kTop;
      if (!IsListed(e)) {
        return;
      }
      AddShared(SharedAddress(&scratch.tokens[e][b / 32]), 1u << b % 32);
    });
    consumer.Sync();
    Count(consumer, scratch, words);
    consumer.Sync();
    AssignPlaces(consumer, scratch);
    consumer.Sync();
    StorePlaces(consumer, args, scratch);
    choices.ForEach(consumer, [&](int i, int e) { StoreSlot(args, scratch, i, e); });
  }

 private:
  /// The experts i = thread, thread + kThreads, ... of all choices.
  struct Choices {
    const u32* chosen;
    int number;
    int begin;  // the first expert with a list
    u32 held[kHeld ? kChoices : 1];

    ETC_DEVICE Choices(const Consumer& consumer, const Args& args, int all)
        : chosen(reinterpret_cast<const u32*>(args.chosen)), number(all), begin(FirstListed(args)) {
      if constexpr (kHeld) {
#pragma unroll
        for (int round = 0; round < kChoices; ++round) {
          int i = round * kThreads + consumer.thread;
          held[round] = i < number ? LoadRelaxed(chosen + i) : 0;
        }
      }
    }
    template <class Body>
    ETC_DEVICE void ForEach(const Consumer& consumer, Body body) const {
      if constexpr (kHeld) {
#pragma unroll
        for (int round = 0; round < kChoices; ++round) {
          int i = round * kThreads + consumer.thread;
          if (i < number) {
            body(i, int(held[round]) - begin);
          }
        }
      } else {
#pragma unroll 1
        for (int i = consumer.thread; i < number; i += kThreads) {
          body(i, int(LoadRelaxed(chosen + i)) - begin);
        }
      }
    }
  };

  static ETC_DEVICE int FirstListed(const Args& args) {
    if constexpr (kIsPart) {
      return int(args.dims.peers.rank) * kExperts;
    } else {
      return 0;
    }
  }
  /// Of an expert that is counted from the first one.
  static ETC_DEVICE bool IsListed(int e) { return !kIsPart || (e >= 0 && e < kExperts); }

  static ETC_DEVICE void Clear(const Consumer& consumer, const Args& args, Scratch& scratch) {
#pragma unroll 1
    for (int i = consumer.thread; i < kExperts * kWords; i += kThreads) {
      (&scratch.tokens[0][0])[i] = 0;
    }
#pragma unroll 1
    for (int i = consumer.thread; i < kPlaces * kSlots; i += kThreads) {
      args.token[i] = 0;
    }
#pragma unroll 1
    for (int u = consumer.thread; u < kPlaces; u += kThreads) {
      args.used[u] = 0;
      args.count[u] = 0;
    }
  }

  static ETC_DEVICE void Count(const Consumer& consumer, Scratch& scratch, int words) {
#pragma unroll 1
    for (int e = consumer.thread; e < kExperts; e += kThreads) {
      int number = 0;
#pragma unroll 1
      for (int word = 0; word < words; ++word) {
        scratch.before[e][word] = (unsigned short)(number);
        number += __popc(scratch.tokens[e][word]);
      }
      scratch.number[e] = number;
    }
  }

  /// By one warp: a lane has neighbouring experts.
  static ETC_DEVICE void AssignPlaces(const Consumer& consumer, Scratch& scratch) {
    constexpr int kOwn = DivideUp(kExperts, 32);
    if (consumer.warp != 0) {
      return;
    }
    auto places = [&](int e) { return e < kExperts ? DivideUp(scratch.number[e], kSlots) : 0; };
    int first = consumer.lane * kOwn;
    int own = 0;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      own += places(first + i);
    }
    int before = SumUpToLane(consumer.lane, own) - own;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      if (first + i < kExperts) {
        scratch.first[first + i] = before;
      }
      before += places(first + i);
    }
    if (consumer.lane == 31) {
      scratch.first[kExperts] = before;
    }
  }

  static ETC_DEVICE void StorePlaces(const Consumer& consumer, const Args& args,
                                     const Scratch& scratch) {
#pragma unroll 1
    for (int e = consumer.thread; e < kExperts; e += kThreads) {
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

  static ETC_DEVICE void StoreSlot(const Args& args, const Scratch& scratch, int i, int e) {
    if (!IsListed(e)) {
      args.slot[i] = kPlaces * kSlots;
      return;
    }
    int b = i / kTop;
    u32 earlier = scratch.tokens[e][b / 32] & ((1u << b % 32) - 1);
    int slot = scratch.first[e] * kSlots + scratch.before[e][b / 32] + __popc(earlier);
    args.slot[i] = slot;
    args.token[slot] = b;
  }
};

}  // namespace etc
