// From the router's logits to the experts that a step uses, and their weights.
//
// Each row of logits [B, E] goes to the `top` experts with the largest, of equal ones to the first.
// used [U] has the experts of all rows in ascending order, n_used [1] their number, weight [B, U]
// the softmax over a row's experts, or with `renormalise` = false over all, and 0 where the expert
// at that place is not the row's. One task makes all of it, so that there is one order of
// everything.
//
//   threads            one for each (row, expert), 32 neighbours of one row in a warp
//   rank of an expert  how many logits of its row are larger, or equal and before it: all are
//                      compared, through shared memory, which needs no chain of reductions
//
// Config: top, renormalise, max_batch.
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
  static constexpr int kPlaces = int(Args::used_0);
  static constexpr int kWords = DivideUp(kExperts, 32);
  static constexpr int kPadded = kWords * 32;
  static_assert(kTop <= kExperts, "a row has no more experts than there are");

  /// Shared by all threads.
  struct Scratch {
    float logits[kRows][kPadded];  // minus infinity behind the last
    float largest[kRows][kTop];    // in descending order
    float sums[kRows];
    u32 chosen[kRows][kWords];  // a bit for each expert
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
    Fetch(consumer, args, scratch, rows);
    consumer.Sync();
    ChooseExperts(consumer, scratch, rows);
    consumer.Sync();
    SumRows(consumer, scratch, rows);
    consumer.Sync();
    Store(consumer, args, scratch, rows);
  }

 private:
  static ETC_DEVICE void Fetch(const Consumer& consumer, const Args& args, Scratch& scratch,
                               int rows) {
    constexpr int kMine = DivideUp(kRows * kPadded, Consumer::kThreads);
    ArrivingWord<decltype(Args::logits)> words[kMine];
    auto place = [&](int j) { return consumer.thread + j * Consumer::kThreads; };
    auto exists = [&](int j) { return place(j) < rows * kPadded && place(j) % kPadded < kExperts; };
    auto element = [&](int j) { return place(j) / kPadded * kExperts + place(j) % kPadded; };
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      words[j].Start(args.logits, exists(j) ? element(j) : 0, exists(j));
    }
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      float logit = NegativeInfinity();
      if (exists(j)) {
        float value = BitsToFloat(words[j].Finish(args.logits, element(j)));
        logit = value > logit ? value : logit;  // of what is no number, too
      }
      if (place(j) < rows * kPadded) {
        scratch.logits[place(j) / kPadded][place(j) % kPadded] = logit;
      }
    }
  }

  static ETC_DEVICE void ChooseExperts(const Consumer& consumer, Scratch& scratch, int rows) {
#pragma unroll 1
    for (int i = consumer.thread; i < rows * kPadded; i += Consumer::kThreads) {
      int b = i / kPadded, e = i % kPadded;
      float mine = scratch.logits[b][e];
      int rank = 0;
#pragma unroll 8
      for (int other = 0; other < kExperts; ++other) {
        float logit = scratch.logits[b][other];
        rank += logit > mine || (logit == mine && other < e) ? 1 : 0;
      }
      bool chosen = e < kExperts && rank < kTop;
      if (chosen) {
        scratch.largest[b][rank] = mine;
      }
      u32 word = __ballot_sync(0xffffffffu, chosen);
      if (e % 32 == 0) {
        scratch.chosen[b][e / 32] = word;
      }
    }
  }

  /// Over a row's experts in descending order, or over all.
  static ETC_DEVICE void SumRows(const Consumer& consumer, Scratch& scratch, int rows) {
#pragma unroll 1
    for (int b = consumer.warp; b < rows; b += Consumer::kWarps) {
      float largest = scratch.largest[b][0];
      float sum = 0;
      if constexpr (Config::renormalise) {
#pragma unroll
        for (int s = 0; s < kTop; ++s) {
          sum += Exp2((scratch.largest[b][s] - largest) * kLog2E);
        }
      } else {
#pragma unroll
        for (int word = 0; word < kWords; ++word) {
          sum += Exp2((scratch.logits[b][word * 32 + consumer.lane] - largest) * kLog2E);
        }
        sum = GroupSum<32>(sum);
      }
      if (consumer.lane == 0) {
        scratch.sums[b] = sum;
      }
    }
  }

  static ETC_DEVICE void Store(const Consumer& consumer, const Args& args, const Scratch& scratch,
                               int rows) {
    int number = 0;
    u32 words[kWords];
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      words[word] = 0;
      for (int b = 0; b < rows; ++b) {
        words[word] |= scratch.chosen[b][word];
      }
      number += __popc(words[word]);
    }
    if (consumer.thread == 0) {
      StoreWord(args.n_used, 0, u32(number));
    }
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      int before = 0;
#pragma unroll
      for (int other = 0; other < word; ++other) {
        before += __popc(words[other]);
      }
      // A thread of each warp's lane for an expert, the rows of it by turns of the warps.
      u32 bit = 1u << consumer.lane;
      int place = before + __popc(words[word] & (bit - 1));
      if ((words[word] & bit) != 0 && place < kPlaces) {
        int e = word * 32 + consumer.lane;
        if (consumer.warp == 0) {
          StoreWord(args.used, place, u32(e));
        }
        for (int b = consumer.warp; b < rows; b += Consumer::kWarps) {
          bool chosen = (scratch.chosen[b][word] & bit) != 0;
          float weight = Exp2((scratch.logits[b][e] - scratch.largest[b][0]) * kLog2E);
          StoreWord(args.weight, b * kPlaces + place,
                    FloatToBits(chosen ? __fdividef(weight, scratch.sums[b]) : 0.0f));
        }
      }
    }
    // Places without an expert.
#pragma unroll 1
    for (int place = number + consumer.lane; place < kPlaces; place += 32) {
      if (consumer.warp == 0) {
        StoreWord(args.used, place, 0);
      }
      for (int b = consumer.warp; b < rows; b += Consumer::kWarps) {
        StoreWord(args.weight, b * kPlaces + place, 0);
      }
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
