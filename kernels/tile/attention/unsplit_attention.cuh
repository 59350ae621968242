// One new token's attention over a paged KV cache, where there are sequences enough that no task
// has a part of one only: norm and rotary embedding of q and k, the append of k and v to the cache,
// and the attended values themselves. SplitKvAttention splits a sequence.
//
// Config: may have qk_norm and eps (RMS norm of each head with the weights q_norm and k_norm).
// Args: qkv [B, (H + 2 KV) D], pos [B], inv_freq [D / 2]; k_cache, v_cache and page_table as
// kv_pages.cuh has them; out [B, H D]. Scalars that may be there: window, scale and norm_offset, as
// split_kv_attention.cuh has them.
// Task (b, h): KV head h, with its group of query heads, and all positions up to pos[b].
//
// The epilogue warp prepares the queries one task ahead of the consumers, with the new position's
// score and value, which make its part in the softmax. A slot has the keys and then the values of
// up to kSlotRows positions; the warps take 16 positions each, by turns (attention_tile.cuh), and
// at the end of a task they join what each has found.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/registers.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/attention/attention_shape.cuh"
#include "tile/attention/head.cuh"
#include "tile/attention/warp_records.cuh"

namespace etc {

template <class Config, class Args>
class UnsplitAttention {
 public:
  using Shape = AttentionShape<Args, int(Args::out_1) / KvPages<Args>::kDim, 32768, false>;
  using Window = AttentionWindow<Args>;
  using Pages = typename Shape::Pages;
  using Blocks = typename Shape::Blocks;
  using Tile = typename Shape::Tile;
  using State = typename Shape::State;
  static constexpr int kDim = Shape::kDim;
  static constexpr int kGroup = Shape::kGroup;
  static constexpr int kSlotBytes = Shape::kSlotBytes;
  static constexpr int kCopyRows =
      Shape::kSlotRows < Pages::kPageSize ? Shape::kSlotRows : Pages::kPageSize;
  static_assert(Shape::kSlotRows % kCopyRows == 0 && Pages::kPageSize % kCopyRows == 0,
                "a slot holds whole pages, or a page whole slots");

  /// What the epilogue warp prepares of a task.
  struct Prepared {
    bf16 queries[Blocks::kCount * Blocks::kHeads][kDim];
    float value[kDim];                              // of the new position
    float scores[Blocks::kCount * Blocks::kHeads];  // its scores, in units of log2
    int position;
  };
  static constexpr int kPreparedBytes = (int(sizeof(Prepared)) + 15) / 16 * 16;
  // The sums of long heads leave no registers for queries, nor for keys and values together.
  static constexpr bool kShortOfRegisters = kDim > 128;
  // So many heads are joined at once. A pair takes turns in two places: then no round of it waits
  // for the readers of the one before.
  static constexpr int kRoundHeads = kGroup <= 6 ? (kGroup + 1) / 2 * 2 : 4;
  static constexpr int kPlaces = kRoundHeads == 2 ? 2 : 1;
  using Records = WarpRecords<kDim, kGroup>;
  static constexpr int kRecordsBytes = Records::Bytes(kRoundHeads, Blocks::kWarps);
  static_assert(Blocks::kCount == 1 || Blocks::kHeads % kRoundHeads == 0, "heads of one block");
  static constexpr int kRecordsOffset = Exchange::kAhead * kPreparedBytes;
  static constexpr int kScratchBytes = kRecordsOffset + kPlaces * kRecordsBytes;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int b, int h) {
    constexpr int at_once = 32;  // pages that the lanes look up
    // Any page of the sequence's row may be looked up before its length is known.
    int last = int(args.page_table_1) - 1;
    int pages = 0;
    auto look_up = [&](int first) {
      pages = Pages::Page(args, b, min(first + loader.lane, last) * Pages::kPageSize);
    };
    int begin = 0;
    if constexpr (Window::kExists) {
      begin = Window::First(args, args.pos[b]);
      look_up(begin / Pages::kPageSize / at_once * at_once);
    } else {
      look_up(0);
    }
    int end = args.pos[b];
#pragma unroll 1
    for (int p = begin; p < end; p = SlotEnd(p)) {
      int rows = min(end - p, SlotEnd(p) - p);
      u32 slot = loader.Acquire();
      loader.Expect(2 * rows * Shape::kRowBytes);
      // Positions of one page, `first` behind the slot's first.
      auto copy = [&](int first, int count) {
        int index = (p + first) / Pages::kPageSize;
        if (index % at_once == 0 && index > 0 && (p + first) % Pages::kPageSize == 0) {
          look_up(index);
        }
        int page = __shfl_sync(0xffffffffu, pages, index % at_once);
        i64 row = Pages::Row(page, h, p + first);
        u32 to = slot + first * Shape::kRowBytes;
        int bytes = count * Shape::kRowBytes;
        loader.Copy(to, args.k_cache + row, bytes);
        loader.Copy(to + kSlotBytes / 2, args.v_cache + row, bytes);
      };
      if constexpr (Window::kExists) {
#pragma unroll 1
        for (int first = 0, next; first < rows; first = next) {
          next = min(rows, ((p + first) / kCopyRows + 1) * kCopyRows - p);
          copy(first, next - first);
        }
      } else {
#pragma unroll
        for (int first = 0; first < Shape::kSlotRows; first += kCopyRows) {
          if (first < rows) {
            copy(first, min(rows - first, kCopyRows));
          }
        }
      }
      loader.Advance();
    }
  }

  ETC_DEVICE UnsplitAttention(Consumer& consumer, const Args&) : turn_(consumer.warp) {
    consumer.Begin();
  }

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int h) {
    const Prepared& prepared = PreparedAt(consumer.scratch, consumer.WaitPrepared());
    // Opaque, or a kernel that is short of registers reads it from local memory for each slot.
    const int lane = Opaque(consumer.lane);
    const int head = Blocks::First(turn_) + lane / 4;
    auto query = [&](int i) {
      const bf16* source = prepared.queries[head] + lane % 4 * 8 + i * 32;
      return LoadSharedIf(SharedAddress(source), head < kGroup && Tile::HasKeys(i, lane));
    };
    Vec4 queries[kShortOfRegisters ? 1 : Tile::kKeyLoads];
    if constexpr (!kShortOfRegisters) {
#pragma unroll
      for (int i = 0; i < Tile::kKeyLoads; ++i) {
        queries[i] = query(i);
      }
    }
    int end = prepared.position;
    State state;
#pragma unroll 1
    for (int p = Window::First(args, end); p < end; p = SlotEnd(p)) {
      int rows = min(end - p, SlotEnd(p) - p) - Blocks::Place(turn_) * Tile::kRows;
      u32 slot = consumer.WaitAddress() + Blocks::Place(turn_) * Tile::kRows * Shape::kRowBytes;
      if (turn_ < Shape::kSlotWarps && rows > 0) {
        Tile tile;
        float scores[4] = {};
        if constexpr (kShortOfRegisters) {
          u32 read = Tile::LoadAndScore(slot, lane, query, ScoreScale<kDim>(args), scores);
          tile.LoadValues(slot + kSlotBytes / 2, rows, lane);
          consumer.Release(tile.ReadValues(read));
        } else {
          tile.LoadKeys(slot, lane);
          tile.LoadValues(slot + kSlotBytes / 2, rows, lane);
          tile.Score([&](int i) { return queries[i]; }, ScoreScale<kDim>(args), scores);
          consumer.Release(tile.Read());
        }
        state.Weigh(scores, lane / 4, rows);
        tile.Accumulate(scores, state.sum);
      } else {
        consumer.Release(0);
      }
      turn_ = turn_ < Shape::kSlotWarps ? turn_ + Shape::kWarps - Shape::kSlotWarps
                                        : turn_ - Shape::kSlotWarps;
    }
    state.MergeLanes();
#pragma unroll 1
    for (int first = 0; first < kGroup; first += kRoundHeads) {
      Records records{SharedAddress(consumer.scratch) + kRecordsOffset + place_ * kRecordsBytes,
                      kRoundHeads, Blocks::kWarps};
      if constexpr (kPlaces == 2) {
        place_ ^= 1;
      } else {
        consumer.Sync();
      }
      records.Store(state, consumer, first);
      consumer.Sync();
      int heads = min(kGroup - first, kRoundHeads);
      i64 out = i64(b) * args.out_1 + (h * kGroup + first) * kDim;
#pragma unroll 1
      for (int i = Opaque(consumer.thread) * 2; i < heads * kDim; i += Consumer::kThreads * 2) {
        int head = i / kDim, d = i % kDim;
        float top = prepared.scores[first + head], weight = 1;
        float sums[2] = {prepared.value[d], prepared.value[d + 1]};
        records.template Join<Blocks::kWarps>(head, d, top, sums, weight);
        sums[0] = __fdividef(sums[0], weight), sums[1] = __fdividef(sums[1], weight);
        StoreRun(args.out, out + i, sums);
      }
    }
    // The epilogue warp may prepare another task in this one's place.
    consumer.AcquirePartials();
    consumer.CommitPartials();
  }

  /// The epilogue warp's side of a share.
  class Reduction {
   public:
    using Exists = void;
    using PreparesAhead = void;
    static constexpr bool kExists = true;
    static constexpr int kPartialsBytes = 0;  // they are in scratch

    ETC_DEVICE Reduction(EpilogueWarp& epilogue_warp, const Args& args)
        : query_constants_(args.inv_freq, epilogue_warp.lane),
          key_constants_(args.inv_freq, epilogue_warp.lane) {
      if constexpr (kNorm) {
        query_constants_.LoadNorm(args, args.q_norm, epilogue_warp.lane);
        key_constants_.LoadNorm(args, args.k_norm, epilogue_warp.lane);
      }
      epilogue_warp.WaitBegin();
    }

    ETC_DEVICE void Prepare(EpilogueWarp& epilogue_warp, const Args& args, int b, int h) {
      int lane = epilogue_warp.lane;
      int position = args.pos[b];
      int page = Pages::Page(args, b, position);
      auto qkv = args.qkv + i64(b) * args.qkv_1;
      // As many queries at once as registers hold.
      constexpr int all_at_once = 8 / HeadWords<kDim>::kHalfWords;
      constexpr int at_once = kGroup < all_at_once ? kGroup : all_at_once;
      HeadWords<kDim> words[at_once];
      auto fetch = [&](int first) {
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          if (first + i < kGroup) {
            words[i] = HeadWords<kDim>(qkv + (h * kGroup + first + i) * kDim, lane);
          }
        }
      };
      fetch(0);
      Head<kDim> key(qkv + (Shape::kHeads + h) * kDim, lane);
      Head<kDim> value(qkv + (Shape::kHeads + Shape::kKvHeads + h) * kDim, lane);
      Rotation<kDim> rotation(key_constants_, position);
      Turn(key, key_constants_, rotation);
      i64 row = Pages::Row(page, h, position);
      key.Store(args.k_cache + row, lane);
      value.Store(args.v_cache + row, lane);
      Prepared& prepared = PreparedAt(epilogue_warp.scratch, epilogue_warp.PreparedPlace());
      value.Store(prepared.value, lane);
      auto prepare = [&](int first) {
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          if (first + i < kGroup) {
            Head<kDim> query(words[i]);
            Turn(query, query_constants_, rotation);
            query.Store(prepared.queries[first + i], lane);
            float dot = 0;
#pragma unroll
            for (int j = 0; j < Head<kDim>::kCount; ++j) {
              dot = fmaf(query.value[j], key.value[j], dot);
            }
            dot = GroupSum<32>(dot) * ScoreScale<kDim>(args);
            if (lane == 0) {
              prepared.scores[first + i] = dot;
            }
          }
        }
      };
      prepare(0);
#pragma unroll 1
      for (int first = at_once; first < kGroup; first += at_once) {
        fetch(first);
        prepare(first);
      }
      if (lane == 0) {
        prepared.position = position;
      }
      epilogue_warp.CommitPrepared();
    }

    ETC_DEVICE void Run(EpilogueWarp& epilogue_warp, const Args&, int, int) {
      epilogue_warp.WaitPartials();
      epilogue_warp.ReleasePartials(0);
    }

   private:
    static constexpr bool kNorm = QkNormOption<Config>::value;

    HeadConstants<kDim> query_constants_, key_constants_;

    /// Norm and rotation, as a reader of the stored bf16 sees them.
    static ETC_DEVICE void Turn(Head<kDim>& head, const HeadConstants<kDim>& constants,
                                const Rotation<kDim>& rotation) {
      if constexpr (kNorm) {
        head.Normalise(constants, float(Config::eps));
      }
      head.Rotate(rotation);
      head.Round();
    }
  };

 private:
  /// The end of the positions that share a slot with p, the first of them.
  static ETC_DEVICE int SlotEnd(int p) {
    return Window::kExists ? (p / Shape::kSlotRows + 1) * Shape::kSlotRows : p + Shape::kSlotRows;
  }

  int turn_;       // below kSlotWarps: the next slot is this warp's
  int place_ = 0;  // of the next round's partials

  static ETC_DEVICE Prepared& PreparedAt(char* scratch, int place) {
    return *reinterpret_cast<Prepared*>(scratch + place * kPreparedBytes);
  }
};

}  // namespace etc
