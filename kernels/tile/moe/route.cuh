// From the router's logits to the experts that a step uses, and their weights.
//
// Each row of logits [B, E] goes to the `top` experts with the largest, of equal ones to the first.
// used [U] has the experts of all rows in ascending order, n_used [1] their number, weight [B, U]
// the softmax over a row's experts, or with `renormalise` = false over all, and 0 where the expert
// at that place is not the row's. One task makes all of it, so that there is one order of
// everything. Of ranks that have `own` experts each, `used` has a rank's own alone, counted from
// its first one, and so have n_used and weight.
//
//   a warp              one row (choice_of_row.cuh)
//
// Config: top, renormalise, own, max_batch.
#pragma once

#include "arch/sm90/flagged.cuh"
#include "engine/roles.cuh"
#include "tile/moe/choice_of_row.cuh"
#include "tile/moe/words.cuh"

namespace etc {

template <class Config, class Args>
class Route {
  static constexpr int kRows = int(Config::max_batch);
  static constexpr int kTop = int(Config::top);
  static constexpr int kExperts = int(Args::logits_1);
  static constexpr int kOwn = int(Config::own);
  static constexpr int kPlaces = int(Args::used_0);
  using Row = ChoiceOfRow<kExperts, kTop, Config::renormalise>;
  static constexpr int kWords = Row::kWords;
  static_assert(kRows <= Consumer::kWarps, "a warp has one row");

  static constexpr bool kFlagged = IsFlagged<decltype(Args::logits)>::value;

  /// Shared by all threads: of each row a bit for each expert that it is sent to.
  struct Scratch {
    alignas(16) u32 chosen[kRows][kWords];
  };

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = int(sizeof(Scratch));

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE Route(Consumer& consumer, const Args&) {
    if constexpr (kFlagged) {
      consumer.AwaitOthers();
    }
  }

  /// While the logits are on their way, goes through all of it without them and stores nothing:
  /// that brings the code into the instruction cache.
  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int) {
#pragma unroll 1
    for (u32 pass = kFlagged ? consumer.zero : 1; pass < 2; ++pass) {
      ChooseAndStore(consumer, args, pass == 1);
    }
  }

 private:
  static ETC_DEVICE void ChooseAndStore(Consumer& consumer, const Args& args, bool there) {
    Scratch& scratch = *reinterpret_cast<Scratch*>(consumer.scratch);
    int rows = int(args.logits_0);
    Row row;
    if (consumer.warp < rows) {
      if (there) {
        row.Fetch(args.logits, consumer.warp, consumer.lane);
      } else {
        row.Invent(consumer.lane);
      }
      row.Choose(consumer.lane);
      row.Weigh(consumer.lane);
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        u32 bits = row.Chosen(word);
        if (consumer.lane == 0) {
          scratch.chosen[consumer.warp][word] = bits;
        }
      }
    }
    consumer.Sync();
    if (consumer.warp < rows) {
      Store(consumer, args, scratch, row, rows, there);
    }
    consumer.Sync();  // what was in scratch is read
  }

  /// By the first warp the experts, which the loaders wait for, and then the row's weights.
  static ETC_DEVICE void Store(const Consumer& consumer, const Args& args, const Scratch& scratch,
                               const Row& row, int rows, bool there) {
    u32 used[kWords] = {};
#pragma unroll
    for (int b = 0; b < kRows; ++b) {
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        used[word] |= b < rows ? scratch.chosen[b][word] : 0;
      }
    }
    int begin = FirstOwn<kExperts, kOwn>(args);
    KeepOwn<kExperts, kOwn>(used, begin, consumer.lane);
    u32 bit = 1u << consumer.lane;
    int places[kWords];
    int number = 0;
    const int last = there ? kPlaces : 0;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      bool exists = there && (used[word] & bit) != 0;
      int place = number + __popc(used[word] & (bit - 1));
      places[word] = exists && place < kPlaces ? place : -1;
      number += __popc(used[word]);
    }
    if (consumer.warp == 0) {
      if (there && consumer.lane == 0) {
        StoreWord(args.n_used, 0, u32(number));
      }
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        if (places[word] >= 0) {
          StoreWord(args.used, places[word], u32(word * 32 + consumer.lane - begin));
        }
      }
#pragma unroll 1
      for (int place = number + consumer.lane; place < last; place += 32) {
        StoreWord(args.used, place, 0);
      }
    }
    int first = consumer.warp * kPlaces;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      if (places[word] >= 0) {
        bool chosen = (row.chosen >> word & 1) != 0;
        float weight = row.WeightOf(row.logits[word]);
        StoreWord(args.weight, first + places[word], FloatToBits(chosen ? weight : 0.0f));
      }
    }
#pragma unroll 1
    for (int place = number + consumer.lane; place < last; place += 32) {
      StoreWord(args.weight, first + place, 0);
    }
  }
};

}  // namespace etc
