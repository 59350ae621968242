// Draws the token of a row from the distances of its tokens, and how many tokens and how much
// weight are in each bin of distances.
//
//   a threshold    the least distance up to which there is enough, of tokens (top-k) or of weight
//                  (top-p, the draw itself): its bin by the sums of all chunks, then 8, 8 and 7
//                  bits in the bin by histograms of the tokens that are left. No order among tokens
//                  is needed for that, but that of equal ones for the last.
//   the tokens     of the bin, or of all bins up to it, in a list where they are few; else the row
//                  is read again for each threshold
//
// Task (b): one row, to token [B]; where a sequence has one row, also next_ids and next_pos [T] and
// ring [P, R]. Args: slot and row_start as scores.cuh has them; pos [T]; temperature, top_k, top_p,
// min_p, seed [P]; distance [B, V], count and mass [B, C, N]; largest and first [B, C].
#pragma once

#include "tile/pointwise/argmax.cuh"
#include "tile/sampling/candidates.cuh"
#include "tile/sampling/philox.cuh"

namespace etc {

template <class Args, class = void>
struct AdvancesOf {
  static ETC_DEVICE void Store(const Args&, int, int, int) {}
};
template <class Args>
struct AdvancesOf<Args, Void<decltype(Args::next_ids)>> {
  static ETC_DEVICE void Store(const Args& args, int s, int slot, int token) {
    int position = args.pos[s] + 1;
    args.next_ids[s] = token;
    args.next_pos[s] = position;
    args.ring[i64(slot) * args.ring_1 + position % int(args.ring_1)] = token;
  }
};

template <class Config, class Args>
class DrawTokens {
  static constexpr int kVocabulary = int(Args::distance_1);
  static constexpr int kBins = int(Args::count_2);
  static_assert(kBins <= Histogram::kBins, "a thread has a bin");
  using RowCandidates = Candidates<kVocabulary>;

  /// The bin in which enough is reached.
  struct Reached {
    int bin;
    Amount before, own;
  };
  struct Scratch {
    Histogram::Scratch histogram;
    typename RowCandidates::Scratch candidates;
    Amount warps[Consumer::kWarps];
    u32 equals[Consumer::kWarps];
    Reached reached;
    int token;
  };
  /// A distance, and what is nearer and as far.
  struct Threshold {
    i32 distance;
    Amount before, own;
  };
  struct Row {
    Consumer& consumer;
    Scratch& scratch;
    RowCandidates candidates;
    Histogram histogram;
    Amount before, own;  // of this thread's bin
  };

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = int(sizeof(Scratch));

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE DrawTokens(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    Scratch& scratch = *reinterpret_cast<Scratch*>(consumer.scratch);
    int s = RowsOfDraws<Args>::SequenceOf(args, b, consumer.lane);
    int slot = args.slot[s];
    if (consumer.thread == 0) {
      scratch.token = Best(args, b);
    }
    if (IsDrawn(args.temperature[slot])) {
      Draw(consumer, args, scratch, b, s, slot);
    }
    consumer.Sync();
    if (consumer.thread == 0) {
      args.token[b] = scratch.token;
      AdvancesOf<Args>::Store(args, s, slot, scratch.token);
    }
  }

 private:
  static ETC_DEVICE int Best(const Args& args, int b) {
    const float* largest = args.largest + i64(b) * args.largest_1;
    int best = 0;
#pragma unroll 8
    for (int c = 1; c < int(args.largest_1); ++c) {
      best = largest[c] > largest[best] ? c : best;
    }
    return args.first[i64(b) * args.first_1 + best];
  }

  static ETC_DEVICE void Draw(Consumer& consumer, const Args& args, Scratch& scratch, int b, int s,
                              int slot) {
    Row row{consumer,
            scratch,
            RowCandidates(consumer, scratch.candidates, args.distance + i64(b) * kVocabulary),
            Histogram(consumer, scratch.histogram),
            Amount{},
            Amount{}};
    row.own = OfBin(args, b, consumer.thread);
    Amount total;
    row.before = BeforeThis(consumer, scratch.warps, row.own, total);
    u64 kept = total.mass;
    i32 edge = kFar - 1;
    Threshold found{};
    u64 need = 0;
    // Top-k, top-p, and the draw among what is left.
#pragma unroll 1
    for (int search = 0; search < 3; ++search) {
      if (search == 0) {
        int top_k = args.top_k[slot];
        need = top_k > 0 && top_k < kVocabulary && u32(top_k) < total.count ? u64(top_k) : 0;
      } else if (search == 1) {
        need = NeedOfShare(kept, args.top_p[slot]);
      } else {
        float min_p = args.min_p[slot];
        if (min_p > 0.0f) {
          i32 widest = Widest(u64(ceilf(fminf(min_p, 1.0f) * 1099511627776.0f)), consumer.lane);
          kept = widest < edge ? MassUpTo(row, widest) : kept;
        }
        int position = args.pos[s] + (b - RowsOfDraws<Args>::First(args, s)) + 1;
        RandomWords random = Philox(u64(args.seed[slot]), u32(position));
        need = kept > 0 ? High62(kept, random.words[0] >> 1, random.words[1] >> 1) + 1 : 0;
      }
      if (need > 0) {
        found = Find(row, search == 0, need);
        edge = found.distance;
        kept = found.before.mass + found.own.mass;
      }
    }
    if (need > 0) {
      u32 equals = u32((need - 1 - found.before.mass) / WeightOf(found.distance));
      int token = row.candidates.Find(found.distance, equals, scratch.equals);
      if (token >= 0) {
        scratch.token = token;
      }
    }
  }

  /// The weight that a share of `kept` is, and one at least; 0 where all is kept.
  static ETC_DEVICE u64 NeedOfShare(u64 kept, float top_p) {
    if (!(top_p < 1.0f) || kept == 0) {
      return 0;
    }
    u64 share = u64(fmaxf(top_p, 0.0f) * 2147483648.0f);
    u64 need = (kept >> 31) * share + (((kept & 0x7fffffff) * share + 0x7fffffff) >> 31);
    return need > 0 ? need : 1;
  }

  static ETC_DEVICE Amount OfBin(const Args& args, int b, int bin) {
    Amount sum;
    if (bin < kBins) {
      int chunks = int(args.count_1);
      i64 place = i64(b) * chunks * kBins + bin;
#pragma unroll 8
      for (int c = 0; c < chunks; ++c) {
        sum.count += u32(args.count[place + i64(c) * kBins]);
        sum.mass += u64(args.mass[place + i64(c) * kBins]);
      }
    }
    return sum;
  }

  /// a * (high * 2^31 + low) / 2^62.
  static ETC_DEVICE u64 High62(u64 a, u64 high, u64 low) {
    u64 upper = a >> 31, lower = a & 0x7fffffff;
    return upper * high + ((upper * low + lower * high + (lower * low >> 31)) >> 31);
  }

  /// The largest distance of a weight of `least` or more, which at most 2^40 is: 32 candidates at
  /// once. For all lanes of a warp.
  static ETC_DEVICE i32 Widest(u64 least, int lane) {
    u32 widest = 0;
#pragma unroll 1
    for (int shift = 26; shift >= 0; shift = shift > 1 ? shift - 5 : shift - 1) {
      u32 distance = widest + (u32(lane) << shift);
      bool weighs = distance < u32(kFar) && WeightOf(i32(distance)) >= least;
      u32 votes = __ballot_sync(0xffffffffu, weighs);
      widest += u32(__popc(votes) - 1) << shift;
    }
    return i32(widest);
  }

  /// Of bins one after the other, a thread's each, the one in which `need` is reached.
  static ETC_DEVICE Reached Reach(Row& row, bool by_count, u64 need, const Amount& before,
                                  const Amount& own) {
    if (before.Of(by_count) < need && need <= before.Of(by_count) + own.Of(by_count)) {
      row.scratch.reached = {row.consumer.thread, before, own};
    }
    row.consumer.Sync();
    Reached reached = row.scratch.reached;
    row.consumer.Sync();
    return reached;
  }

  /// Lists the bin's tokens, with all nearer ones if possible, where a list has room.
  static ETC_DEVICE void ListBin(Row& row, const Reached& reached) {
    i32 first = reached.bin << kBinBits, end = (reached.bin + 1) << kBinBits;
    if (row.candidates.Has(first, end)) {
      return;
    }
    if (reached.before.count + reached.own.count <= u32(RowCandidates::kMost)) {
      row.candidates.List(0, end);
    } else if (reached.own.count <= u32(RowCandidates::kMost)) {
      row.candidates.List(first, end);
    }
  }

  /// The least distance up to which there are `need` tokens, or that weight: there is so much.
  static ETC_DEVICE Threshold Find(Row& row, bool by_count, u64 need) {
    Reached reached = Reach(row, by_count, need, row.before, row.own);
    ListBin(row, reached);
    i32 first = reached.bin << kBinBits;
    Amount before = reached.before;
    int bits = kBinBits;
#pragma unroll 1
    while (bits > 0) {
      int shift = max(bits - 8, 0);
      Amount own = row.candidates.Count(row.histogram, first, first + (1 << bits), shift);
      Amount total;
      Amount inside = BeforeThis(row.consumer, row.scratch.warps, own, total);
      inside.Add(before);
      reached = Reach(row, by_count, need, inside, own);
      before = reached.before;
      first += reached.bin << shift;
      bits = shift;
      if (!row.candidates.Has(first, first + (1 << bits)) &&
          reached.own.count <= u32(RowCandidates::kMost)) {
        row.candidates.List(first, first + (1 << bits));
      }
    }
    return {first, before, reached.own};
  }

  /// The weight of all tokens up to a distance.
  static ETC_DEVICE u64 MassUpTo(Row& row, i32 distance) {
    int bin = distance >> kBinBits;
    if (row.consumer.thread == bin) {
      row.scratch.reached = {bin, row.before, row.own};
    }
    row.consumer.Sync();
    Reached reached = row.scratch.reached;
    row.consumer.Sync();
    ListBin(row, reached);
    // All of them are in the first bin of that size.
    Amount own = row.candidates.Count(row.histogram, bin << kBinBits, distance + 1, kBinBits);
    Amount inside;
    BeforeThis(row.consumer, row.scratch.warps, own, inside);
    return reached.before.mass + inside.mass;
  }
};

}  // namespace etc
