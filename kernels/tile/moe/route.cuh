// From the router's logits to the experts that a step uses, and their weights.
//
// Each row of logits [B, E] goes to the `top` experts with the largest, of equal ones to the first.
// used [U] has the experts of all rows in ascending order, n_used [1] their number, weight [B, U]
// the softmax over a row's experts, or with `renormalise` = false over all, and 0 where the expert
// at that place is not the row's. One task makes all of it, so that there is one order of
// everything. Of ranks that have `own` experts each, `used` has a rank's own alone, counted from
// its first one, and so have n_used and weight.
//
//   a warp              one row, E / 32 logits in each lane
//   the s-th expert     by two reductions over the warp: the largest key that is left, then the
//   first
//                       expert that has it
//
// Other SMs run other shares meanwhile, so the code of this one is seldom in an SM's instruction
// cache: it is short, and what is done `top` times is a loop.
//
// Config: top, renormalise, own, max_batch.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/flagged.cuh"
#include "engine/roles.cuh"
#include "tile/moe/used_experts.cuh"

namespace etc {

template <class Config, class Args>
class Route {
  static constexpr int kRows = int(Config::max_batch);
  static constexpr int kTop = int(Config::top);
  static constexpr int kExperts = int(Args::logits_1);
  static constexpr int kOwn = int(Config::own);
  static constexpr int kPlaces = int(Args::used_0);
  static constexpr int kWords = DivideUp(kExperts, 32);
  static_assert(kTop <= kExperts && kTop <= 32, "a row has no more experts than a warp has lanes");
  static_assert(kRows <= Consumer::kWarps, "a warp has one row");

  /// Shared by all threads: of each row a bit for each expert that it is sent to.
  struct Scratch {
    u32 chosen[kRows][kWords];
  };
  /// A lane's part of a row: the experts lane, lane + 32, ...
  struct Row {
    float logits[kWords];
    u32 chosen = 0;  // a bit for each of them
    float largest;
    float sum;  // of what the weights are divided by
  };

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = int(sizeof(Scratch));

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE Route(Consumer& consumer, const Args&) {
    if constexpr (IsFlagged<decltype(Args::logits)>::value) {
      consumer.AwaitOthers();
    }
  }

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int) {
    Scratch& scratch = *reinterpret_cast<Scratch*>(consumer.scratch);
    int rows = int(args.logits_0);
    Row row;
    if (consumer.warp < rows) {
      Fetch(consumer, args, row);
      ChooseExperts(consumer, row);
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        u32 bits = __ballot_sync(0xffffffffu, (row.chosen >> word & 1) != 0);
        if (consumer.lane == 0) {
          scratch.chosen[consumer.warp][word] = bits;
        }
      }
    }
    consumer.Sync();
    if (consumer.warp < rows) {
      Store(consumer, args, scratch, row, rows);
    }
  }

 private:
  // Larger keys are larger numbers, and none is 0.
  static ETC_DEVICE u32 ToKey(float x) {
    u32 bits = FloatToBits(x);
    return bits ^ (bits >> 31 != 0 ? 0xffffffffu : 0x80000000u);
  }
  static ETC_DEVICE float FromKey(u32 key) {
    return BitsToFloat(key ^ (key >> 31 != 0 ? 0x80000000u : 0xffffffffu));
  }

  static ETC_DEVICE void Fetch(const Consumer& consumer, const Args& args, Row& row) {
    ArrivingWord<decltype(Args::logits)> words[kWords];
    auto expert = [&](int word) { return word * 32 + consumer.lane; };
    auto element = [&](int word) {
      return expert(word) < kExperts ? consumer.warp * kExperts + expert(word) : 0;
    };
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      words[word].Start(args.logits, element(word), expert(word) < kExperts);
    }
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      float value = BitsToFloat(words[word].Finish(args.logits, element(word)));
      bool above = expert(word) < kExperts && value > NegativeInfinity();  // a number, too
      row.logits[word] = above ? value : NegativeInfinity();
    }
  }

  static ETC_DEVICE void ChooseExperts(const Consumer& consumer, Row& row) {
    u32 keys[kWords];  // 0 where there is no expert, or none any more
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      keys[word] = word * 32 + consumer.lane < kExperts ? ToKey(row.logits[word]) : 0;
    }
    float mine = NegativeInfinity();  // of lane s: the s-th largest
#pragma unroll 1
    for (int s = 0; s < kTop; ++s) {
      u32 best = keys[0];
#pragma unroll
      for (int word = 1; word < kWords; ++word) {
        best = keys[word] > best ? keys[word] : best;
      }
      best = __reduce_max_sync(0xffffffffu, best);
      u32 first = kExperts;
#pragma unroll
      for (int word = kWords - 1; word >= 0; --word) {
        first = keys[word] == best ? u32(word * 32 + consumer.lane) : first;
      }
      first = __reduce_min_sync(0xffffffffu, first);
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        if (first == u32(word * 32 + consumer.lane)) {
          keys[word] = 0;
          row.chosen |= 1u << word;
        }
      }
      mine = consumer.lane == s ? FromKey(best) : mine;
    }
    row.largest = __shfl_sync(0xffffffffu, mine, 0);
    float sum = 0;
    if constexpr (Config::renormalise) {
      sum = consumer.lane < kTop ? Exp2((mine - row.largest) * kLog2E) : 0;
    } else {
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        sum += Exp2((row.logits[word] - row.largest) * kLog2E);
      }
    }
    row.sum = GroupSum<32>(sum);
  }

  /// By the first warp the experts, which the loaders wait for, and then the row's weights.
  static ETC_DEVICE void Store(const Consumer& consumer, const Args& args, const Scratch& scratch,
                               const Row& row, int rows) {
    u32 used[kWords] = {};
#pragma unroll
    for (int b = 0; b < kRows; ++b) {
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        used[word] |= b < rows ? scratch.chosen[b][word] : 0;
      }
    }
    int begin = FirstOwn(args);
    if constexpr (kOwn < kExperts) {
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        int own = word * 32 + consumer.lane - begin;
        used[word] &= __ballot_sync(0xffffffffu, own >= 0 && own < kOwn);
      }
    }
    u32 bit = 1u << consumer.lane;
    int places[kWords];
    int number = 0;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      bool exists = (used[word] & bit) != 0;
      int place = number + __popc(used[word] & (bit - 1));
      places[word] = exists && place < kPlaces ? place : -1;
      number += __popc(used[word]);
    }
    if (consumer.warp == 0) {
      if (consumer.lane == 0) {
        StoreWord(args.n_used, 0, u32(number));
      }
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        if (places[word] >= 0) {
          StoreWord(args.used, places[word], u32(word * 32 + consumer.lane - begin));
        }
      }
#pragma unroll 1
      for (int place = number + consumer.lane; place < kPlaces; place += 32) {
        StoreWord(args.used, place, 0);
      }
    }
    int first = consumer.warp * kPlaces;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      if (places[word] >= 0) {
        float weight = __fdividef(Exp2((row.logits[word] - row.largest) * kLog2E), row.sum);
        bool chosen = (row.chosen >> word & 1) != 0;
        StoreWord(args.weight, first + places[word], FloatToBits(chosen ? weight : 0.0f));
      }
    }
#pragma unroll 1
    for (int place = number + consumer.lane; place < kPlaces; place += 32) {
      StoreWord(args.weight, first + place, 0);
    }
  }

  static ETC_DEVICE int FirstOwn(const Args& args) {
    if constexpr (kOwn < kExperts) {
      return int(args.dims.peers.rank) * kOwn;
    } else {
      return 0;
    }
  }

  template <class T>
  static ETC_DEVICE void StoreWord(T* to, int i, u32 word) {
    reinterpret_cast<u32*>(to)[i] = word;
  }
  template <class T>
  static ETC_DEVICE void StoreWord(Flagged<T> to, int i, u32 word) {
    StoreFlagged(to.Word(u32(i)), word);
  }
};

}  // namespace etc
