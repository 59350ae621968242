// The tokens of a row in a range of distances: in a list in shared memory where there are few, else
// the row is read again.
#pragma once

#include "tile/sampling/histogram.cuh"

namespace etc {

template <int kVocabulary>
class Candidates {
  using Piece = RowPiece<i32, kVocabulary>;

 public:
  static constexpr int kMost = 768;
  struct Scratch {
    i32 distance[kMost];
    i32 token[kMost];
    u32 number;
  };

  ETC_DEVICE Candidates(Consumer& consumer, Scratch& scratch, const i32* row)
      : consumer_(consumer), scratch_(scratch), row_(row) {}

  ETC_DEVICE bool Has(i32 first, i32 end) const { return first >= first_ && end <= end_; }

  /// Lists the tokens of distances from `first` up to `end`, at most kMost; for all threads.
  ETC_DEVICE void List(i32 first, i32 end) {
    consumer_.Sync();  // the list before has been read
    if (consumer_.thread == 0) {
      scratch_.number = 0;
    }
    consumer_.Sync();
    u32 number = SharedAddress(&scratch_.number);
    ForRow(0, kVocabulary, first, end, [&](i32 distance, int token) {
      u32 place = FetchAddShared(number, 1);
      scratch_.distance[place] = distance;
      scratch_.token[place] = token;
    });
    consumer_.Sync();
    size_ = int(scratch_.number);
    first_ = first;
    end_ = end;
  }

  /// Adds the tokens of distances from `first` up to `end` to bins of 2^shift; for all threads.
  /// What this thread's bin then has. There are no more tokens than a histogram takes at once.
  ETC_DEVICE Amount Count(Histogram& histogram, i32 first, i32 end, int shift) {
    Amount sum;
    auto add = [&](i32 distance, int) { histogram.Add((distance - first) >> shift, distance); };
    bool listed = Has(first, end);
#pragma unroll 1
    for (int begin = 0; begin < (listed ? 1 : kVocabulary); begin += Histogram::kMostTokens) {
      histogram.Clear();
      consumer_.Sync();
      if (listed) {
#pragma unroll 1
        for (int i = consumer_.thread; i < size_; i += Consumer::kThreads) {
          if (scratch_.distance[i] >= first && scratch_.distance[i] < end) {
            add(scratch_.distance[i], scratch_.token[i]);
          }
        }
      } else {
        ForRow(begin, min(begin + Histogram::kMostTokens, kVocabulary), first, end, add);
      }
      consumer_.Sync();
      sum.Add(histogram.Own());
      consumer_.Sync();
    }
    return sum;
  }

  /// The token behind `before` others of its distance, in a thread that finds it: -1 in the others.
  ETC_DEVICE int Find(i32 distance, u32 before, u32 (&warps)[Consumer::kWarps]) {
    return Has(distance, distance + 1) ? FindInList(distance, before)
                                       : FindInRow(distance, before, warps);
  }

 private:
  ETC_DEVICE int FindInList(i32 distance, u32 before) const {
    for (int i = consumer_.thread; i < size_; i += Consumer::kThreads) {
      if (scratch_.distance[i] == distance) {
        u32 rank = 0;
        for (int j = 0; j < size_; ++j) {
          rank += scratch_.distance[j] == distance && scratch_.token[j] < scratch_.token[i] ? 1 : 0;
        }
        if (rank == before) {
          return scratch_.token[i];
        }
      }
    }
    return -1;
  }

  /// Each warp has one stretch of the row.
  ETC_DEVICE int FindInRow(i32 distance, u32 before, u32 (&warps)[Consumer::kWarps]) {
    constexpr int kStretch = DivideUp(DivideUp(kVocabulary, Consumer::kWarps), 32) * 32;
    int begin = consumer_.warp * kStretch;
    int end = min(begin + kStretch, kVocabulary);
    auto equals = [&](int first) {
      int token = first + consumer_.lane;
      return __ballot_sync(0xffffffffu, token < end && row_[token] == distance);
    };
    u32 number = 0;
#pragma unroll 8
    for (int first = begin; first < end; first += 32) {
      number += u32(__popc(equals(first)));
    }
    if (consumer_.lane == 0) {
      warps[consumer_.warp] = number;
    }
    consumer_.Sync();
    u32 earlier = 0;
    for (int warp = 0; warp < consumer_.warp; ++warp) {
      earlier += warps[warp];
    }
    if (before < earlier || before >= earlier + number) {
      return -1;
    }
    u32 left = before - earlier;
    for (int first = begin; first < end; first += 32) {
      u32 bits = equals(first);
      u32 here = u32(__popc(bits));
      if (left < here) {
        u32 lower = bits & ((1u << consumer_.lane) - 1);
        bool is = (bits >> consumer_.lane & 1) != 0 && u32(__popc(lower)) == left;
        return is ? first + consumer_.lane : -1;
      }
      left -= here;
    }
    return -1;
  }

  /// Calls body(distance, token) for the tokens of a stretch whose distances are from `first` up to
  /// `end`. Much is on its way at once, and what is done for few tokens has one place in the code.
  template <class Body>
  ETC_DEVICE void ForRow(int begin, int stop, i32 first, i32 end, const Body& body) const {
    constexpr int kPieces = 8, kElements = Piece::kElements;
    constexpr int kStride = Consumer::kThreads * kElements;
#pragma unroll 1
    for (int v = begin + consumer_.thread * kElements; v < stop; v += kPieces * kStride) {
      Piece pieces[kPieces] = {};
#pragma unroll
      for (int k = 0; k < kPieces; ++k) {
        if (v + k * kStride < stop) {
          pieces[k] = *reinterpret_cast<const Piece*>(row_ + v + k * kStride);
        }
      }
      u32 wanted = 0;
#pragma unroll
      for (int k = 0; k < kPieces; ++k) {
#pragma unroll
        for (int i = 0; i < kElements; ++i) {
          bool is = v + k * kStride < stop && u32(pieces[k].elements[i] - first) < u32(end - first);
          wanted |= is ? 1u << (k * kElements + i) : 0;
        }
      }
#pragma unroll 1
      while (wanted != 0) {
        int bit = __popc((wanted & (0 - wanted)) - 1);
        wanted &= wanted - 1;
        int token = v + bit / kElements * kStride + bit % kElements;
        body(row_[token], token);
      }
    }
  }

  Consumer& consumer_;
  Scratch& scratch_;
  const i32* row_;
  i32 first_ = 0, end_ = 0;  // distances that the list has
  int size_ = 0;
};

}  // namespace etc
