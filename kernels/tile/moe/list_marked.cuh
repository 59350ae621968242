// The lists of ListExperts, made by several tasks from the marks that MarkChoices leaves. Each
// output is the same as there.
//
// Task (t): the slots of the tokens of block t, which are 32, and `places` places: whose they are,
// and the tokens in their slots. Each task counts the tokens of all experts by itself, as it needs
// where their places begin.
//
//   slot of a choice    the expert's first one, and the bits before the token's in its column
//   tokens of a place   a warp goes through the column of its expert, a block to a lane
//
// Config: places, max_batch. Args: chosen i32 [B, top], marks u32 [W, E], used i32 [P], n_used i32
// [1], count i32 [P], token i32 [P * G], slot i32 [B, top].
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/moe/block_of_choices.cuh"
#include "tile/moe/marked_column.cuh"

namespace etc {

template <class Config, class Args>
class ListMarked {
  static constexpr int kTop = int(Args::chosen_1);
  static constexpr int kExperts = int(Args::marks_1);
  static constexpr int kPlaces = int(Args::used_0);
  static constexpr int kOwnPlaces = int(Config::places);       // of a task
  static constexpr int kSlots = int(Args::token_0) / kPlaces;  // of a place
  static constexpr int kMostBlocks = DivideUp(int(Config::max_batch), 32);
  static constexpr int kThreads = Consumer::kThreads;
  static constexpr int kGroups = kExperts < kThreads ? kThreads / kExperts : 1;  // for an expert
  static constexpr int kBlocks = DivideUp(kMostBlocks, kGroups);                 // of a group
  static constexpr int kInFlight = kBlocks < 32 ? kBlocks : 32;                  // of these

  struct Scratch {
    int tokens[kGroups][kExperts];   // of an expert, in the blocks of a group
    int earlier[kGroups][kExperts];  // those in blocks before the own one
    u32 marks[kExperts];             // of the own block
    int number[kExperts];            // of an expert's tokens
    int before[kExperts];            // those in blocks before the own one
    int first[kExperts + 1];         // place
  };

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 2 * int(sizeof(Scratch));  // by turns

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE ListMarked(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int t) {
    Scratch& scratch = reinterpret_cast<Scratch*>(consumer.scratch)[turn_];
    turn_ ^= 1;
    BlockOfChoices<kTop> choices(consumer, args, t);
    Count(consumer, args, scratch, t);
    consumer.Sync();
    AssignPlaces(consumer, scratch);
    consumer.Sync();
    choices.ForEach(consumer, [&](int i, int e) {
      u32 earlier = scratch.marks[e] & ((1u << i / kTop) - 1);
      args.slot[i64(t) * 32 * kTop + i] =
          scratch.first[e] * kSlots + scratch.before[e] + __popc(earlier);
    });
#pragma unroll 1
    for (int i = consumer.warp; i < kOwnPlaces; i += Consumer::kWarps) {
      if (t * kOwnPlaces + i < kPlaces) {
        StorePlace(consumer, args, scratch, t * kOwnPlaces + i);
      }
    }
    if (t == 0 && consumer.thread == 0) {
      args.n_used[0] = scratch.first[kExperts];
    }
  }

 private:
  int turn_ = 0;

  /// The threads of an expert take its blocks by turns.
  static ETC_DEVICE void Count(const Consumer& consumer, const Args& args, Scratch& scratch,
                               int t) {
    int blocks = int(args.marks_0);
#pragma unroll 1
    for (int i = consumer.thread; i < kGroups * kExperts; i += kThreads) {
      int e = i % kExperts;
      int tokens = 0, earlier = 0;
#pragma unroll 1
      for (int first = i / kExperts; first < blocks; first += kInFlight * kGroups) {
        u32 marks[kInFlight] = {};
#pragma unroll
        for (int j = 0; j < kInFlight; ++j) {
          int w = first + j * kGroups;
          LoadRelaxedIf(marks[j], args.marks + i64(w) * kExperts + e, w < blocks);
        }
#pragma unroll
        for (int j = 0; j < kInFlight; ++j) {
          int w = first + j * kGroups;
          tokens += __popc(marks[j]);
          earlier += w < t ? __popc(marks[j]) : 0;
          if (w == t) {
            scratch.marks[e] = marks[j];
          }
        }
      }
      scratch.tokens[i / kExperts][e] = tokens;
      scratch.earlier[i / kExperts][e] = earlier;
    }
  }

  /// By one warp.
  static ETC_DEVICE void AssignPlaces(const Consumer& consumer, Scratch& scratch) {
    if (consumer.warp != 0) {
      return;
    }
    int taken = 0;
#pragma unroll
    for (int begin = 0; begin < kExperts; begin += 32) {
      int e = begin + consumer.lane;
      int number = 0, before = 0;
      if (e < kExperts) {
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
          number += scratch.tokens[group][e];
          before += scratch.earlier[group][e];
        }
        scratch.number[e] = number;
        scratch.before[e] = before;
      }
      int places = DivideUp(number, kSlots);
      int end = SumUpToLane(consumer.lane, places);
      if (e < kExperts) {
        scratch.first[e] = taken + end - places;
      }
      taken += __shfl_sync(0xffffffffu, end, 31);
    }
    if (consumer.lane == 0) {
      scratch.first[kExperts] = taken;
    }
  }

  /// By a warp.
  static ETC_DEVICE void StorePlace(const Consumer& consumer, const Args& args,
                                    const Scratch& scratch, int u) {
    int e = ExpertOf(consumer, scratch, u);
    int rank = 0, count = 0;  // the first one of its tokens, and how many they are
    if (e < kExperts) {
      MarkedColumn<kExperts, kMostBlocks> column{args.marks + e, int(args.marks_0)};
      rank = (u - scratch.first[e]) * kSlots;
      count = min(kSlots, scratch.number[e] - rank);
      column.Store(consumer, args.token + i64(u) * kSlots, rank, count);
    }
#pragma unroll 1
    for (int j = count + consumer.lane; j < kSlots; j += 32) {
      args.token[i64(u) * kSlots + j] = 0;
    }
    if (consumer.lane == 0) {
      args.used[u] = e < kExperts ? e : 0;
      args.count[u] = count;
    }
  }

  /// kExperts behind all places.
  static ETC_DEVICE int ExpertOf(const Consumer& consumer, const Scratch& scratch, int u) {
    int e = 0;
#pragma unroll
    for (int begin = 0; begin < kExperts; begin += 32) {
      int other = begin + consumer.lane;
      e += __popc(__ballot_sync(0xffffffffu, other < kExperts && scratch.first[other + 1] <= u));
    }
    return e;
  }
};

}  // namespace etc
