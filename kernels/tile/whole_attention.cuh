// One new token's attention over a paged KV cache, where there are sequences enough that no task
// has a part of one only: norm and rotary embedding of q and k, the append of k and v to the cache,
// and the attended values themselves. DecodeAttention splits a sequence.
//
// Config: may have qk_norm and eps (RMS norm of each head with the weights q_norm and k_norm).
// Args: qkv [B, (H + 2 KV) D], pos [B], inv_freq [D / 2]; k_cache, v_cache and page_table as
// kv_pages.cuh has them; out [B, H D].
// Task (b, h): KV head h, with its group of query heads, and all positions up to pos[b].
//
// The consumers only stream: what else a task needs the reducer does beside it. It prepares the
// queries one task ahead, with the new position's score and value, which make its part in the
// softmax, and it joins the warps' parts while they go on. A slot has the keys and then the values
// of up to kSlotRows positions; the warps take 16 positions each, by turns (attention_tile.cuh).
#pragma once

#include "arch/math.cuh"
#include "arch/memory.cuh"
#include "arch/registers.cuh"
#include "arch/runs.cuh"
#include "tile/attention_tile.cuh"
#include "tile/head.cuh"
#include "tile/kv_pages.cuh"
#include "tile/options.cuh"
#include "tile/roles.cuh"

namespace etc {

template <class Config, class Args>
class WholeAttention {
 public:
  using Pages = KvPages<Args>;
  static constexpr int kDim = Pages::kDim;
  static constexpr int kKvHeads = Pages::kKvHeads;
  static constexpr int kHeads = int(Args::out_1) / kDim;
  static constexpr int kGroup = kHeads / kKvHeads;  // query heads that share a KV head
  static_assert(kHeads % kKvHeads == 0, "each KV head serves as many query heads");
  static_assert(kGroup <= 8, "a KV head serves at most 8 query heads");
  using Tile = AttentionTile<kDim>;
  using State = AttentionState<kDim>;

  static constexpr int kWarps = Consumer::kWarps;
  static constexpr int kRowBytes = Tile::kRowBytes;
  static constexpr int kSlotBytes = 32768;
  static constexpr int kSlotRows = kSlotBytes / 2 / kRowBytes;
  static constexpr int kSlotWarps = kSlotRows / Tile::kRows;
  static_assert(kWarps % kSlotWarps == 0, "the warps take the slots by turns");
  static constexpr int kCopyRows = kSlotRows < Pages::kPageSize ? kSlotRows : Pages::kPageSize;
  static_assert(kSlotRows % kCopyRows == 0 && Pages::kPageSize % kCopyRows == 0,
                "a slot holds whole pages, or a page whole slots");

  /// What the reducer prepares of a task.
  struct Prepared {
    bf16 queries[8][kDim];
    float value[kDim];  // of the new position
    float scores[8];    // its scores, in units of log2
    int position;
  };
  static constexpr int kPreparedBytes = (int(sizeof(Prepared)) + 15) / 16 * 16;
  static constexpr int kRecord = State::kRecord;
  static constexpr int kPart =
      2 * kRecord;  // floats that a warp hands over: of two heads at a time
  static constexpr int kPartsOffset = Exchange::kAhead * kPreparedBytes;
  static constexpr int kScratchBytes = kPartsOffset + Exchange::kBuffers * kWarps * kPart * 4;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int b, int h) {
    constexpr int window = 32;  // pages that the lanes look up at once
    // Any page of the sequence's row may be looked up before its length is known.
    int last = int(args.page_table_1) - 1;
    int pages = 0;
    auto look_up = [&](int first) {
      pages = Pages::Page(args, b, min(first + loader.lane, last) * Pages::kPageSize);
    };
    look_up(0);
    int end = args.pos[b];
#pragma unroll 1
    for (int p = 0; p < end; p += kSlotRows) {
      int rows = min(end - p, kSlotRows);
      u32 slot = loader.Acquire();
      loader.Expect(2 * rows * kRowBytes);
#pragma unroll
      for (int first = 0; first < kSlotRows; first += kCopyRows) {
        if (first < rows) {
          int index = (p + first) / Pages::kPageSize;
          if (index % window == 0 && index > 0 && (p + first) % Pages::kPageSize == 0) {
            look_up(index);
          }
          int page = __shfl_sync(0xffffffffu, pages, index % window);
          i64 row = Pages::Row(page, h, p + first);
          u32 to = slot + first * kRowBytes;
          int bytes = min(rows - first, kCopyRows) * kRowBytes;
          loader.Copy(to, args.k_cache + row, bytes);
          loader.Copy(to + kSlotBytes / 2, args.v_cache + row, bytes);
        }
      }
      loader.Advance();
    }
  }

  ETC_DEVICE WholeAttention(Consumer& consumer, const Args&)
      : consumer_(consumer), turn_(consumer.warp) {
    consumer.Begin();
  }
  /// The reducer reads scratch until then.
  ETC_DEVICE ~WholeAttention() { consumer_.AwaitReducer(); }

  ETC_DEVICE void Run(Consumer& consumer, const Args&, int, int) {
    const Prepared& prepared = PreparedAt(consumer.scratch, consumer.WaitPrepared());
    // Opaque, or a kernel that is short of registers reads it from local memory for each slot.
    const int lane = Opaque(consumer.lane);
    Vec4 queries[Tile::kKeyLoads];
#pragma unroll
    for (int i = 0; i < Tile::kKeyLoads; ++i) {
      const bf16* source = prepared.queries[lane / 4] + lane % 4 * 8 + i * 32;
      queries[i] = LoadSharedIf(SharedAddress(source), lane / 4 < kGroup);
    }
    int end = prepared.position;
    State state;
#pragma unroll 1
    for (int p = 0; p < end; p += kSlotRows) {
      int rows = min(end - p, kSlotRows) - turn_ * Tile::kRows;
      u32 slot = consumer.WaitAddress() + turn_ * Tile::kRows * kRowBytes;
      if (turn_ < kSlotWarps && rows > 0) {
        Tile tile;
        tile.LoadKeys(slot, lane);
        tile.LoadValues(slot + kSlotBytes / 2, rows, lane);
        float scores[4] = {};
        tile.Score([&](int i) { return queries[i]; }, scores);
        consumer.Release(tile.Read());
        state.Weigh(scores, lane / 4, rows);
        tile.Accumulate(scores, state.sum);
      } else {
        consumer.Release(0);
      }
      turn_ = turn_ < kSlotWarps ? turn_ + kWarps - kSlotWarps : turn_ - kSlotWarps;
    }
    state.MergeLanes();
#pragma unroll 1
    for (int head = 0; head < kGroup; head += 2) {
      consumer.AcquireParts();
      u32 parts = Parts(consumer.scratch, consumer.exchange);
      state.Store(parts + consumer.warp * kPart * 4, head, lane);
      consumer.CommitParts();
    }
  }

  /// The reducer's side of a share.
  class Reduction {
   public:
    using Exists = void;
    using PreparesAhead = void;
    static constexpr bool kExists = true;
    static constexpr int kPartsBytes = 0;  // they are in scratch

    ETC_DEVICE Reduction(Reducer& reducer, const Args& args)
        : query_constants_(args.inv_freq, reducer.lane),
          key_constants_(args.inv_freq, reducer.lane),
          place_(reducer.PreparedPlace()) {
      if constexpr (kNorm) {
        query_constants_.LoadNorm(args.q_norm, reducer.lane);
        key_constants_.LoadNorm(args.k_norm, reducer.lane);
      }
      reducer.WaitBegin();
    }

    ETC_DEVICE void Prepare(Reducer& reducer, const Args& args, int b, int h) {
      int lane = reducer.lane;
      int position = args.pos[b];
      int page = Pages::Page(args, b, position);
      auto qkv = args.qkv + i64(b) * args.qkv_1;
      HeadWords<kDim> words[kGroup];
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        words[i] = HeadWords<kDim>(qkv + (h * kGroup + i) * kDim, lane);
      }
      Head<kDim> key(qkv + (kHeads + h) * kDim, lane);
      Head<kDim> value(qkv + (kHeads + kKvHeads + h) * kDim, lane);
      Rotation<kDim> rotation(key_constants_, position);
      Turn(key, key_constants_, rotation);
      i64 row = Pages::Row(page, h, position);
      key.Store(args.k_cache + row, lane);
      value.Store(args.v_cache + row, lane);
      Prepared& prepared = PreparedAt(reducer.scratch, reducer.PreparedPlace());
      value.Store(prepared.value, lane);
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        Head<kDim> query(words[i]);
        Turn(query, query_constants_, rotation);
        query.Store(prepared.queries[i], lane);
        float dot = 0;
#pragma unroll
        for (int j = 0; j < Head<kDim>::kCount; ++j) {
          dot = fmaf(query.value[j], key.value[j], dot);
        }
        dot = GroupSum<32>(dot) * ScoreScale<kDim>();
        if (lane == 0) {
          prepared.scores[i] = dot;
        }
      }
      if (lane == 0) {
        prepared.position = position;
      }
      reducer.CommitPrepared();
    }

    ETC_DEVICE void Run(Reducer& reducer, const Args& args, int b, int h) {
      const Prepared& prepared = PreparedAt(reducer.scratch, place_);
      place_ = (place_ + 1) % Exchange::kAhead;
#pragma unroll 1
      for (int head = 0; head < kGroup; head += 2) {
        reducer.WaitParts();
        u32 parts = Parts(reducer.scratch, reducer.exchange);
        float out[2][kCount];
        u32 read = Join(prepared, parts, head, reducer.lane, out[0]) ^
                   Join(prepared, parts + kRecord * 4, head + 1, reducer.lane, out[1]);
        reducer.ReleaseParts(read);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (head + i < kGroup) {
            i64 first = i64(b) * args.out_1 + (h * kGroup + head + i) * kDim;
            StoreRun(args.out, first + reducer.lane * kCount, out[i]);
          }
        }
      }
    }

   private:
    static constexpr int kCount = kDim / 32;  // neighbours that a lane joins
    static constexpr bool kNorm = QkNormOption<Config>::value;

    HeadConstants<kDim> query_constants_, key_constants_;
    int place_;  // where the next task to join was prepared

    /// Norm and rotation, as a reader of the stored bf16 sees them.
    static ETC_DEVICE void Turn(Head<kDim>& head, const HeadConstants<kDim>& constants,
                                const Rotation<kDim>& rotation) {
      if constexpr (kNorm) {
        head.Normalise(constants, float(Config::eps));
      }
      head.Rotate(rotation);
      head.Round();
    }

    /// The lane's elements of the attended values of one head, of the warps' records and the new
    /// position. The result is made of all that was read. Of a head beyond the group it is nothing.
    static ETC_DEVICE u32 Join(const Prepared& prepared, u32 record, int head, int lane,
                               float (&out)[kCount]) {
      float scores[kWarps][2];  // the largest, and the sum of the exponentials
      float score = prepared.scores[head], top = score;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) {
        LoadShared(record + (warp * kPart + kDim) * 4, scores[warp]);
        top = fmaxf(top, scores[warp][0]);
      }
      float weight = SoftmaxFactor(score, top);
      LoadShared(SharedAddress(prepared.value + lane * kCount), out);
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        out[j] *= weight;
      }
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) {
        float factor = SoftmaxFactor(scores[warp][0], top);
        weight = fmaf(factor, scores[warp][1], weight);
        float elements[kCount];
        LoadShared(record + (warp * kPart + lane * kCount) * 4, elements);
#pragma unroll
        for (int j = 0; j < kCount; ++j) {
          out[j] = fmaf(factor, elements[j], out[j]);
        }
      }
      u32 read = 0;
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        out[j] = __fdividef(out[j], weight);
        read ^= FloatToBits(out[j]);
      }
      return read;
    }
  };

 private:
  const Consumer& consumer_;
  int turn_;  // below kSlotWarps: the next slot is this warp's

  static ETC_DEVICE Prepared& PreparedAt(char* scratch, int place) {
    return *reinterpret_cast<Prepared*>(scratch + place * kPreparedBytes);
  }
  /// The parts of the exchange's next buffer: of each warp two records.
  static ETC_DEVICE u32 Parts(const char* scratch, const Exchange& exchange) {
    return SharedAddress(scratch) + kPartsOffset + exchange.buffers.Index() * kWarps * kPart * 4;
  }
};

}  // namespace etc
