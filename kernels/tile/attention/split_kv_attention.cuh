// One new token's attention over a paged KV cache, split over the positions: norm and rotary
// embedding of q and k, the append of k and v to the cache, and one split's part of the softmax.
// SplitKvAttention makes all splits, and AttentionCombine joins them. Or ButLastSplitAttention
// makes all but the last, and FusedSplitAttention that one, beside them, and joins the others to
// it. So do the two of sequences that have as many splits as their lengths ask for
// (parts_of_sequences.cuh).
//
// Config: may have qk_norm and eps (RMS norm of each head with the weights q_norm and k_norm).
// Args: qkv [B, (H + 2 KV) D], pos [B], inv_freq [D / 2]; k_cache, v_cache and page_table as
// kv_pages.cuh has them; partial [B, H, S, D + 2]: the sum of exp(score - m) v, then m, then the
// sum of exp(score - m), S - 1 of them where the last split has none; there out [B, H D]. Scalars
// that may be there: window (the splits are those of the last so many positions, and no others are
// read), scale (of the scores; else 1 / sqrt(D)), norm_offset (added to the weights of the norms).
// Task (b, h, s), of FusedSplitAttention (b, h): KV head h, with its group of query heads, and
// split s of the positions before pos[b]. The last split has pos[b] too, and appends it. Where data
// count the splits, s is the number of the split's record, and FusedSplitAttention has an s as
// well, which says nothing.
//
// The loader brings the cached keys and values through the ring, ahead of every wait: the launch
// writes position pos[b] of each sequence only, and that one is taken from qkv. A slot has the keys
// and then the values of up to kSlotRows positions of one page. The warps take the slots by turns,
// 16 positions each (attention_tile.cuh).
#pragma once

#include "arch/common/math.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/attention/attention_shape.cuh"
#include "tile/attention/head.cuh"
#include "tile/attention/parts_of_sequences.cuh"
#include "tile/attention/split_records.cuh"
#include "tile/attention/warp_records.cuh"

namespace etc {

/// Of a sequence, those that a kernel's tasks have.
enum class Splits { All, AllButLast, Last };

template <class Config, class Args, Splits kSplits>
struct SplitAttention {
  static constexpr bool kLast = kSplits == Splits::Last;
  using Shape = AttentionShape<Args, int(Args::partial_1), 16384, true>;
  using Parts = PartsOfSequences<Args>;
  using Pages = typename Shape::Pages;
  using Blocks = typename Shape::Blocks;
  using Tile = typename Shape::Tile;
  using State = typename Shape::State;
  static constexpr int kDim = Shape::kDim;
  static constexpr int kGroup = Shape::kGroup;
  static constexpr int kSlotBytes = Shape::kSlotBytes;
  static constexpr int kRecord = kDim + 2;  // of `partial`
  // So many heads are joined at once where all warps have positions, twice as many where half of
  // them have none.
  static constexpr int kAllHeads = (kGroup + 1) / 2 * 2;
  static constexpr int kMostHeads = kDim <= 64 ? 8 : kDim <= 128 ? 4 : 2;
  static constexpr int kRoundHeads = kAllHeads < kMostHeads ? kAllHeads : kMostHeads;
  static constexpr int kRun = 2;  // elements of a head that a thread joins
  // Records that are joined in a row. For all of them at once the code takes longer to fetch.
  static constexpr int kRecordsAtOnce = 4;
  static_assert(Blocks::kWarps % kRecordsAtOnce == 0, "records come in whole rows");
  using Records = WarpRecords<kDim, kGroup>;
  // Registers hold the keys and the values of a tile, and the sums, of no longer heads.
  static constexpr bool kWholeTile = kDim <= 128;
  static constexpr int kHelperRegisters = kWholeTile ? HelperRegisters<void>::value : 88;

  static_assert(Pages::kPageSize % Shape::kSlotRows == 0,
                "a page is a multiple of what a slot holds");
  // The records take the place of the queries, and of the new key and value, which are read as the
  // first row of a tile.
  static constexpr int kQueryBytes = Blocks::kCount * Blocks::kHeads * kDim * 2;
  static constexpr int kNewBytes = kQueryBytes + Tile::kRows * Shape::kRowBytes;
  static constexpr int kRecordsBytes = Records::Bytes(kRoundHeads, Blocks::kWarps);
  static constexpr int kScratchBytes = kNewBytes > kRecordsBytes ? kNewBytes : kRecordsBytes;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int b, int h, int s = 0) {
    constexpr int window = 32;  // pages that the lanes look up at once
    Split split(args, b, s);
    int first = -window, pages = 0;
#pragma unroll 1
    for (int p = split.begin; p < split.end; p = split.SlotEnd(p)) {
      int index = p / Pages::kPageSize;
      if (index - first >= window) {
        first = index;
        int mine = min(first + loader.lane, (split.end - 1) / Pages::kPageSize);
        pages = Pages::Page(args, b, mine * Pages::kPageSize);
      }
      int page = __shfl_sync(0xffffffffu, pages, index - first);
      i64 row = Pages::Row(page, h, p);
      int bytes = (split.SlotEnd(p) - p) * Shape::kRowBytes;
      u32 slot = loader.Acquire();
      loader.Expect(2 * bytes);
      loader.Copy(slot, args.k_cache + row, bytes);
      loader.Copy(slot + kSlotBytes / 2, args.v_cache + row, bytes);
      loader.Advance();
    }
  }

  /// The loader's side where it waits for the numbers of splits first. Task ranges are read from
  /// them, too, so nothing writes them again, and the loader hands nothing over.
  struct Source {
    ETC_DEVICE Source(Loader&, const Args&) {}
    ETC_DEVICE void Load(Loader& loader, const Args& args, int b, int h, int s) {
      SplitAttention::Load(loader, args, b, h, s);
    }
  };

  ETC_DEVICE SplitAttention(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int h, int s = 0) {
    Split split(args, b, s);
    // Looked up first, used last: the look-up takes as long as a task's first half.
    [[maybe_unused]] int new_page = split.appends ? Pages::Page(args, b, split.position) : 0;
    Prepare(consumer, args, b, h, split);
    consumer.Sync();
    State state;
    int turn = consumer.warp;  // below kSlotWarps: the next slot is this warp's
#pragma unroll 1
    for (int p = split.begin; p < split.End();) {
      const Step step(consumer, split, p, turn);
      u32 read = 0;
      if (step.rows > 0) {
        Tile tile;
        tile.LoadKeys(step.keys, consumer.lane);
        if constexpr (kWholeTile) {
          tile.LoadValues(step.values, step.rows, consumer.lane);
        }
        float scores[4] = {};
        tile.Score([&](int i) { return ReadQuery(consumer, i); }, ScoreScale<kDim>(args), scores);
        if constexpr (!kWholeTile) {
          tile.LoadValues(step.values, step.rows, consumer.lane);
        }
        state.Weigh(scores, consumer.lane / 4, step.rows);
        tile.Accumulate(scores, state.sum);
        read = tile.Read();
      }
      if (step.cached) {
        consumer.Release(read);
        turn = turn < Shape::kSlotWarps ? turn + Shape::kWarps - Shape::kSlotWarps
                                        : turn - Shape::kSlotWarps;
      }
      p = step.next;
    }
    if constexpr (kSplits != Splits::AllButLast) {
      if (split.appends) {
        Append(consumer, args, Pages::Row(new_page, h, split.position));
      }
    }
    state.MergeLanes();
    const int row = Parts::kByLength ? 0 : b;
    auto partial =
        args.partial + (i64(row) * Shape::kHeads + h * kGroup) * args.partial_2 * kRecord;
    if constexpr (!kLast) {
      StorePart(consumer, args, split, state, partial + i64(s) * kRecord);
    } else {
      int count = int(args.partial_2);
      if constexpr (Parts::kByLength) {
        partial = partial + i64(Parts::First(args, b)) * kRecord;
        count = Parts::Count(args, b);
      }
      Join(consumer, args, split, state, partial, count, i64(b) * args.out_1 + h * kGroup * kDim);
    }
  }

 private:
  /// The positions of a task, as the loader and the consumers see them.
  struct Split {
    int position;    // the new one
    int begin, end;  // of the cached ones
    bool appends;

    ETC_DEVICE Split(const Args& args, int b, int s) {
      int splits = int(args.partial_2) + (kSplits == Splits::All ? 0 : 1);
      s = kLast ? splits - 1 : s;
      if constexpr (Parts::kByLength) {
        splits = max(1, Parts::Count(args, b));
        s = kLast ? Parts::Count(args, b) : s - Parts::First(args, b);
      }
      position = args.pos[b];
      int first = AttentionWindow<Args>::First(args, position);
      int chunk = (position - first + splits - 1) / splits;
      begin = min(position, first + s * chunk);
      end = min(position, begin + chunk);
      appends = kLast || (kSplits == Splits::All && s == splits - 1);
    }
    /// The end of the positions that share a slot with p, the first of them.
    ETC_DEVICE int SlotEnd(int p) const {
      return min(end, (p / Shape::kSlotRows + 1) * Shape::kSlotRows);
    }
    /// Behind the last position, the new one if it is there.
    ETC_DEVICE int End() const { return appends ? end + 1 : end; }
    /// The tiles of cached positions, which the warps of a block take by turns.
    ETC_DEVICE int Tiles() const {
      int slots = DivideUp(end, Shape::kSlotRows) - begin / Shape::kSlotRows;
      return slots > 1 ? slots * (Shape::kSlotRows / Tile::kRows)
                       : DivideUp(end - begin, Tile::kRows);
    }
    /// The warp of a block that has the new position: the first without a tile, or the last.
    ETC_DEVICE int NewPositionsWarp() const { return min(Tiles(), Blocks::kWarps - 1); }
    /// The first so many warps of a block hand over a record.
    ETC_DEVICE int RecordWarps() const {
      return min(appends ? Tiles() + 1 : Tiles(), Blocks::kWarps);
    }
  };

  /// What the warps do together: a slot, or at last the new position.
  struct Step {
    bool cached;
    int next;          // the position with which the next step begins
    int rows;          // of this warp's tile; none if not positive
    u32 keys, values;  // shared

    ETC_DEVICE Step(Consumer& consumer, const Split& split, int p, int turn)
        : cached(p < split.end) {
      if (cached) {
        const int row = Blocks::Place(turn) * Tile::kRows;
        next = split.SlotEnd(p);
        rows = turn < Shape::kSlotWarps ? next - p - row : 0;
        keys = consumer.WaitAddress() + row * Shape::kRowBytes;
        values = keys + kSlotBytes / 2;
      } else {
        next = p + 1;
        rows = Blocks::Place(consumer.warp) == split.NewPositionsWarp() ? 1 : 0;
        keys = SharedAddress(NewKey(consumer));
        values = SharedAddress(NewValue(consumer));
      }
    }
  };

  static ETC_DEVICE bf16* Queries(const Consumer& consumer) {
    return reinterpret_cast<bf16*>(consumer.scratch);
  }
  static ETC_DEVICE bf16* NewKey(const Consumer& consumer) {
    return reinterpret_cast<bf16*>(consumer.scratch + kQueryBytes);
  }
  static ETC_DEVICE bf16* NewValue(const Consumer& consumer) { return NewKey(consumer) + kDim; }

  /// Leaves the queries in scratch; in the split that appends, the new key and value too. A warp
  /// for each head.
  static ETC_DEVICE void Prepare(const Consumer& consumer, const Args& args, int b, int h,
                                 const Split& split) {
    constexpr bool qk_norm = QkNormOption<Config>::value;
    auto qkv = args.qkv + i64(b) * args.qkv_1;
    int lane = consumer.lane;
    int items = kGroup + (split.appends ? 2 : 0);
#pragma unroll 1
    for (int item = consumer.warp; item < items; item += Shape::kWarps) {
      bool is_query = item<kGroup, is_value = item> kGroup;
      int index =
          is_query ? h * kGroup + item : Shape::kHeads + h + (is_value ? Shape::kKvHeads : 0);
      HeadConstants<kDim> constants(args.inv_freq, lane);
      if constexpr (qk_norm) {
        auto weights = args.q_norm;
        if constexpr (kSplits != Splits::AllButLast) {
          weights = is_query ? weights : args.k_norm;
        }
        constants.LoadNorm(args, weights, lane);
      }
      Head<kDim> head(qkv + index * kDim, lane);
      if (!is_value) {
        if constexpr (qk_norm) {
          head.Normalise(constants, float(Config::eps));
        }
        head.Rotate({constants, split.position});
      }
      head.Store(is_query   ? Queries(consumer) + item * kDim
                 : is_value ? NewValue(consumer)
                            : NewKey(consumer),
                 lane);
    }
  }

  /// Puts the new key and value into their row of the caches; a warp for each.
  static ETC_DEVICE void Append(const Consumer& consumer, const Args& args, i64 row) {
    if (consumer.warp < 2) {
      const bf16* source = consumer.warp == 0 ? NewKey(consumer) : NewValue(consumer);
      bf16* cache = (consumer.warp == 0 ? args.k_cache : args.v_cache) + row;
#pragma unroll
      for (int d = 0; d < kDim; d += 64) {
        if (d + 64 <= kDim || d + consumer.lane * 2 < kDim) {
          int at = d / 2 + consumer.lane;
          reinterpret_cast<u32*>(cache)[at] = reinterpret_cast<const u32*>(source)[at];
        }
      }
    }
  }

  /// Query elements as the second operand: of head g, the 8 at q * 8 of the i-th 32. Heads beyond
  /// the group are zeros. Read anew for each use: registers are short.
  static ETC_DEVICE uint4 ReadQuery(const Consumer& consumer, int i) {
    int head = Blocks::First(consumer.warp) + consumer.lane / 4;
    uint4 words = {0, 0, 0, 0};
    if (head < kGroup && Tile::HasKeys(i, consumer.lane)) {
      const bf16* source = Queries(consumer) + head * kDim + consumer.lane % 4 * 8 + i * 32;
      words = *reinterpret_cast<const uint4*>(source);
    }
    return words;
  }

  /// Leaves what the warps have found in scratch, some heads at once, and calls `use` with the
  /// records, the head that a thread has of them, the first of its elements there, and the number
  /// of the head in the group.
  template <class Use>
  static ETC_DEVICE void ForElements(Consumer& consumer, const Split& split, const State& state,
                                     const Use& use) {
    const int warps = DivideUp(split.RecordWarps(), kRecordsAtOnce) * kRecordsAtOnce;
    const bool few = Blocks::kCount == 1 && warps <= Blocks::kWarps / 2;
    const Records records{SharedAddress(consumer.scratch),
                          few ? min(2 * kRoundHeads, kAllHeads) : kRoundHeads, warps};
#pragma unroll 1
    for (int first = 0; first < kGroup; first += records.heads) {
      consumer.Sync();  // what was in scratch is read
      if (Blocks::Place(consumer.warp) < records.warps) {
        records.Store(state, consumer, first);
      }
      consumer.Sync();
      int elements = min(records.heads, kGroup - first) * kDim;
#pragma unroll 1
      for (int i = consumer.thread * kRun; i < elements; i += Consumer::kThreads * kRun) {
        use(records, i / kDim, i % kDim, first + i / kDim);
      }
    }
    consumer.Sync();  // the next task's queries take the place of the records
  }

  /// What was found for some elements of a head.
  struct Joined {
    float top = NegativeInfinity(), sums[kRun] = {}, weight = 0;

    ETC_DEVICE Joined(const Records& records, int head, int d) {
      records.template Join<kRecordsAtOnce>(head, d, top, sums, weight);
    }
  };

  template <class Pointer>
  static ETC_DEVICE void StorePart(Consumer& consumer, const Args& args, const Split& split,
                                   const State& state, Pointer partial) {
    ForElements(consumer, split, state, [&](const Records& records, int place, int d, int head) {
      Joined joined(records, place, d);
      auto out = partial + head * args.partial_2 * kRecord;
      StoreRun(out, d, joined.sums);
      if (d == 0) {
        const float scores[] = {joined.top * kLn2, joined.weight};
        StoreRun(out, kDim, scores);
      }
    });
  }

  /// With the records of the other splits, which are on their way while the warps are joined.
  template <class Pointer>
  static ETC_DEVICE void Join(Consumer& consumer, const Args& args, const Split& split,
                              const State& state, Pointer partial, int count, i64 out) {
    ForElements(consumer, split, state, [&](const Records& records, int place, int d, int head) {
      SplitRecords<kDim, kRun, Pointer, Parts::kAtOnce> others(
          partial + head * args.partial_2 * kRecord, count, d);
      Joined joined(records, place, d);
      others.Join(joined.top, joined.sums, joined.weight);
      float values[kRun];
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        values[i] = __fdividef(joined.sums[i], joined.weight);
      }
      StoreRun(args.out, out + head * kDim + d, values);
    });
  }
};

template <class Config, class Args>
using SplitKvAttention = SplitAttention<Config, Args, Splits::All>;
template <class Config, class Args>
using ButLastSplitAttention = SplitAttention<Config, Args, Splits::AllButLast>;
template <class Config, class Args>
using FusedSplitAttention = SplitAttention<Config, Args, Splits::Last>;

}  // namespace etc
