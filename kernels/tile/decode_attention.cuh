// One new token's attention over a paged KV cache, split over the positions: norm and rotary
// embedding of q and k, the append of k and v to the cache, and one split's part of the softmax.
// AttentionCombine joins the splits.
//
// Config: may have qk_norm and eps (RMS norm of each head with the weights q_norm and k_norm).
// Args: qkv [B, (H + 2 KV) D], pos [B], inv_freq [D / 2]; k_cache, v_cache and page_table as
// kv_pages.cuh has them; partial [B, H, S, D + 2]: the sum of exp(score - m) v, then m, then the
// sum of exp(score - m).
// Task (b, h, s): KV head h, with its group of query heads, and split s of the positions before
// pos[b]. The last split has pos[b] too, and appends it.
//
// The loader brings the cached keys and values through the ring, ahead of every wait: the launch
// writes position pos[b] of each sequence only, and that one is taken from qkv. A slot has the keys
// and then the values of up to kSlotRows positions of one page. The warps take the slots by turns,
// 16 positions each. The group's query heads are the N side of both products: scores[position,
// head] = k q^T, and out[d, head] += v^T p^T. Below, g = lane / 4 and q = lane % 4, as the
// instructions have it.
#pragma once

#include "arch/math.cuh"
#include "arch/memory.cuh"
#include "arch/mma.cuh"
#include "tile/head.cuh"
#include "tile/kv_pages.cuh"
#include "tile/options.cuh"
#include "tile/roles.cuh"

namespace etc {

template <class Config, class Args>
struct DecodeAttention {
  using Pages = KvPages<Args>;
  static constexpr int kDim = Pages::kDim;
  static constexpr int kKvHeads = Pages::kKvHeads;
  static constexpr int kHeads = int(Args::partial_1);
  static constexpr int kGroup = kHeads / kKvHeads;  // query heads that share a KV head
  static_assert(kHeads % kKvHeads == 0, "each KV head serves as many query heads");
  static_assert(kGroup <= 8, "a KV head serves at most 8 query heads");
  static_assert(kDim == 64 || kDim == 128, "a head has 64 or 128 elements");

  static constexpr int kWarps = Consumer::kWarps;
  static constexpr int kTile = 16;  // positions of a warp's step
  static constexpr int kRowBytes = kDim * 2;
  static constexpr int kKeyLoads = kDim / 32;    // loads of a lane in one row of k
  static constexpr int kValueLoads = kDim / 64;  // loads of a lane in one row of v
  static constexpr int kRecord = kDim + 2;

  static constexpr int kSlotBytes = 16384;
  static constexpr int kSlotRows = kSlotBytes / 2 / kRowBytes;
  static constexpr int kSlotWarps = kSlotRows / kTile;
  static_assert(Pages::kPageSize % kSlotRows == 0, "a page is a multiple of what a slot holds");
  static_assert(kWarps % kSlotWarps == 0, "the warps take the slots by turns");
  static constexpr int kQueryBytes = 8 * kDim * 2;
  static constexpr int kScratchBytes = kQueryBytes + 2 * kDim * 4 + kWarps * 2 * kRecord * 4;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int b, int h, int s) {
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
      int bytes = (split.SlotEnd(p) - p) * kRowBytes;
      u32 slot = loader.Acquire();
      loader.Expect(2 * bytes);
      loader.Copy(slot, args.k_cache + row, bytes);
      loader.Copy(slot + kSlotBytes / 2, args.v_cache + row, bytes);
      loader.Advance();
    }
  }

  ETC_DEVICE DecodeAttention(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int h, int s) {
    Split split(args, b, s);
    // Looked up first, used last: the look-up takes as long as a task's first half.
    int new_page = split.appends ? Pages::Page(args, b, split.position) : 0;
    Prepare(consumer, args, b, h, split);
    consumer.Sync();
    State state;
    if (split.appends && consumer.warp == kWarps - 1) {
      state.Start(consumer);
    }
    int turn = consumer.warp;  // below kSlotWarps: the next slot is this warp's
#pragma unroll 1
    for (int p = split.begin; p < split.end; p = split.SlotEnd(p)) {
      int rows = split.SlotEnd(p) - p - turn * kTile;
      u32 slot = consumer.WaitAddress() + turn * kTile * kRowBytes;
      u32 read = 0;
      if (turn < kSlotWarps && rows > 0) {
        Tile tile;
        tile.LoadKeys(slot, consumer.lane);
        float scores[4] = {};
        tile.Score(consumer, scores);
        tile.LoadValues(slot + kSlotBytes / 2, rows, consumer.lane);
        state.Weigh(scores, consumer.lane / 4, rows);
        tile.Accumulate(scores, state.sum);
        read = tile.Read();
      }
      consumer.Release(read);
      turn = turn < kSlotWarps ? turn + kWarps - kSlotWarps : turn - kSlotWarps;
    }
    if (split.appends) {
      Append(consumer, args, Pages::Row(new_page, h, split.position));
    }
    state.MergeLanes();
    i64 splits = args.partial_2;
    auto partial = args.partial + ((i64(b) * kHeads + h * kGroup) * splits + s) * kRecord;
#pragma unroll 1
    for (int head = 0; head < kGroup; head += 2) {
      if (head > 0) {
        consumer.Sync();
      }
      MergeWarps(consumer, state, head, partial, splits * kRecord);
    }
  }

 private:
  /// The positions of a task, as the loader and the consumers see them.
  struct Split {
    int position;    // the new one
    int begin, end;  // of the cached ones
    bool appends;

    ETC_DEVICE Split(const Args& args, int b, int s) {
      int splits = int(args.partial_2);
      position = args.pos[b];
      int chunk = (position + splits - 1) / splits;
      begin = min(position, s * chunk);
      end = min(position, begin + chunk);
      appends = s == splits - 1;
    }
    /// The end of the positions that share a slot with p, the first of them.
    ETC_DEVICE int SlotEnd(int p) const { return min(end, (p / kSlotRows + 1) * kSlotRows); }
  };

  static ETC_DEVICE bf16* Queries(const Consumer& consumer) {
    return reinterpret_cast<bf16*>(consumer.scratch);
  }
  static ETC_DEVICE float* NewKey(const Consumer& consumer) {
    return reinterpret_cast<float*>(consumer.scratch + kQueryBytes);
  }
  static ETC_DEVICE float* NewValue(const Consumer& consumer) { return NewKey(consumer) + kDim; }
  static ETC_DEVICE float* Records(const Consumer& consumer) { return NewValue(consumer) + kDim; }

  /// exp2(score - top), 0 where nothing was seen: then both are minus infinity.
  static ETC_DEVICE float Factor(float score, float top) {
    return Exp2(score - fmaxf(top, -1e30f));
  }
  // Scores are in units of log2, as the exponential takes them.
  static ETC_DEVICE float ScoreScale() { return kLog2E * ReciprocalSqrt(float(kDim)); }

  /// Leaves the queries in scratch; in the split that appends, the new key and value too. A warp
  /// for each head.
  static ETC_DEVICE void Prepare(const Consumer& consumer, const Args& args, int b, int h,
                                 const Split& split) {
    constexpr bool qk_norm = QkNormOption<Config>::value;
    auto qkv = args.qkv + i64(b) * args.qkv_1;
    int lane = consumer.lane;
    int items = kGroup + (split.appends ? 2 : 0);
#pragma unroll 1
    for (int item = consumer.warp; item < items; item += kWarps) {
      bool is_query = item<kGroup, is_value = item> kGroup;
      int index = is_query ? h * kGroup + item : kHeads + h + (is_value ? kKvHeads : 0);
      HeadConstants<kDim> constants(args.inv_freq, lane);
      if constexpr (qk_norm) {
        constants.LoadNorm(is_query ? args.q_norm : args.k_norm, lane);
      }
      Head<kDim> head(qkv + index * kDim, lane);
      if (!is_value) {
        if constexpr (qk_norm) {
          head.Normalise(constants, float(Config::eps));
        }
        head.Rotate(constants, split.position);
      }
      if (is_query) {
        head.Store(Queries(consumer) + item * kDim, lane);
      } else {
        head.Round();
        head.Store(is_value ? NewValue(consumer) : NewKey(consumer), lane);
      }
    }
  }

  /// Puts the new key and value into their row of the caches; a warp for each.
  static ETC_DEVICE void Append(const Consumer& consumer, const Args& args, i64 row) {
    if (consumer.warp < 2) {
      const float* source = consumer.warp == 0 ? NewKey(consumer) : NewValue(consumer);
      bf16* cache = (consumer.warp == 0 ? args.k_cache : args.v_cache) + row;
#pragma unroll
      for (int d = 0; d < kDim; d += 32) {
        cache[d + consumer.lane] = FromFloat<bf16>(source[d + consumer.lane]);
      }
    }
  }

  /// Query elements as the second operand: of head g, the 8 at q * 8 of the i-th 32. Heads beyond
  /// the group are zeros. Read anew for each use: registers are short.
  static ETC_DEVICE uint4 ReadQuery(const Consumer& consumer, int i) {
    int head = consumer.lane / 4;
    uint4 words = {0, 0, 0, 0};
    if (head < kGroup) {
      const bf16* source = Queries(consumer) + head * kDim + consumer.lane % 4 * 8 + i * 32;
      words = *reinterpret_cast<const uint4*>(source);
    }
    return words;
  }

  /// 16 positions of a slot.
  struct Tile {
    Vec4 keys[2][kKeyLoads];  // rows g and g + 8; 8 elements at q * 8 of every 32
    Vec4 values[4]
               [kValueLoads];  // rows 2q, 2q + 1, 2q + 8, 2q + 9; 8 elements at g * 8 of every 64

    ETC_DEVICE void LoadKeys(u32 k, int lane) {
      k += lane / 4 * kRowBytes + lane % 4 * 16;
#pragma unroll
      for (int row = 0; row < 2; ++row) {
#pragma unroll
        for (int i = 0; i < kKeyLoads; ++i) {
          keys[row][i] = LoadShared(k + row * 8 * kRowBytes + i * 64);
        }
      }
    }
    /// The slot has `rows` rows from the tile's first on; what lies beyond them is anything, and
    /// becomes zeros.
    ETC_DEVICE void LoadValues(u32 v, int rows, int lane) {
      int first = lane % 4 * 2;
      v += first * kRowBytes + lane / 4 * 16;
#pragma unroll
      for (int row = 0; row < 4; ++row) {
#pragma unroll
        for (int i = 0; i < kValueLoads; ++i) {
          int offset = row % 2 + row / 2 * 8;
          values[row][i] = LoadSharedIf(v + offset * kRowBytes + i * 128, first + offset < rows);
        }
      }
    }
    /// A value made of all loads, for Consumer::Release.
    ETC_DEVICE u32 Read() const {
      u32 read = 0;
#pragma unroll
      for (int i = 0; i < kKeyLoads; ++i) {
        read ^= keys[0][i].x ^ keys[1][i].x;
      }
#pragma unroll
      for (int i = 0; i < kValueLoads; ++i) {
        read ^= values[0][i].x ^ values[1][i].x ^ values[2][i].x ^ values[3][i].x;
      }
      return read;
    }

    /// Positions g and g + 8, of each the heads 2q and 2q + 1.
    ETC_DEVICE void Score(const Consumer& consumer, float (&scores)[4]) const {
      float other[4] = {};  // a second chain of sums, for latency
#pragma unroll
      for (int i = 0; i < kKeyLoads; ++i) {
        const Vec4& low = keys[0][i];
        const Vec4& high = keys[1][i];
        uint4 query = ReadQuery(consumer, i);
        MmaBf16(scores, low.x, high.x, low.y, high.y, query.x, query.y);
        MmaBf16(other, low.z, high.z, low.w, high.w, query.z, query.w);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scores[i] = (scores[i] + other[i]) * ScoreScale();
      }
    }

    /// Adds the values times the weights of their positions. A value's neighbours in memory are the
    /// same position's, the operand's are neighbouring positions': two rows are interleaved.
    ETC_DEVICE void Accumulate(const float (&weights)[4], float (&sum)[kValueLoads][4][4]) const {
      u32 p0 = Transpose8x8(PackBf16(weights[0], weights[1]));
      u32 p1 = Transpose8x8(PackBf16(weights[2], weights[3]));
#pragma unroll
      for (int i = 0; i < kValueLoads; ++i) {
        Multiply(sum[i][0], values[0][i].x, values[1][i].x, values[2][i].x, values[3][i].x, p0, p1);
        Multiply(sum[i][1], values[0][i].y, values[1][i].y, values[2][i].y, values[3][i].y, p0, p1);
        Multiply(sum[i][2], values[0][i].z, values[1][i].z, values[2][i].z, values[3][i].z, p0, p1);
        Multiply(sum[i][3], values[0][i].w, values[1][i].w, values[2][i].w, values[3][i].w, p0, p1);
      }
    }
    static ETC_DEVICE void Multiply(float (&sum)[4], u32 row0, u32 row1, u32 row8, u32 row9, u32 p0,
                                    u32 p1) {
      MmaBf16(sum, __byte_perm(row0, row1, 0x5410), __byte_perm(row0, row1, 0x7632),
              __byte_perm(row8, row9, 0x5410), __byte_perm(row8, row9, 0x7632), p0, p1);
    }
  };

  /// The running softmax of the positions that this warp has seen, heads 2q and 2q + 1.
  struct State {
    // Element e of load i is d = i * 64 + g * 8 + e; sum[i][e / 2] has e for both heads, then e
    // + 1.
    float sum[kValueLoads][4][4] = {};
    float top[2] = {NegativeInfinity(), NegativeInfinity()};  // largest scores
    float weight[2] = {};  // sums of the exponentials, of the positions g and g + 8 only

    /// Maximum over the lanes of a head.
    static ETC_DEVICE float HeadMax(float value) {
#pragma unroll
      for (int offset = 4; offset < 32; offset *= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
      }
      return value;
    }
    static ETC_DEVICE float HeadSum(float value) {
#pragma unroll
      for (int offset = 4; offset < 32; offset *= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
      }
      return value;
    }

    /// The new position comes first; all lanes of one warp.
    ETC_DEVICE void Start(const Consumer& consumer) {
      const float* key = NewKey(consumer);
      const float* value = NewValue(consumer);
      int g = consumer.lane / 4;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        int head = consumer.lane % 4 * 2 + i;
        float dot = 0;
        if (head < kGroup) {
#pragma unroll 8
          for (int d = g; d < kDim; d += 8) {
            dot = fmaf(ToFloat(Queries(consumer)[head * kDim + d]), key[d], dot);
          }
        }
        top[i] = HeadSum(dot) * ScoreScale();
        weight[i] = g == 0 ? 1.0f : 0.0f;
      }
#pragma unroll
      for (int i = 0; i < kValueLoads; ++i) {
#pragma unroll
        for (int e = 0; e < 8; ++e) {
          float element = value[i * 64 + g * 8 + e];
          sum[i][e / 2][e % 2 * 2] = sum[i][e / 2][e % 2 * 2 + 1] = element;
        }
      }
    }

    /// Turns the scores of rows `row` and `row` + 8 into weights, 0 from row `rows` on, and the
    /// sums to the new largest score.
    ETC_DEVICE void Weigh(float (&scores)[4], int row, int rows) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float low = row < rows ? scores[i] : NegativeInfinity();
        float high = row + 8 < rows ? scores[i + 2] : NegativeInfinity();
        float old = top[i];
        top[i] = fmaxf(old, HeadMax(fmaxf(low, high)));
        float correction = Factor(old, top[i]);
        scores[i] = Factor(low, top[i]);
        scores[i + 2] = Factor(high, top[i]);
        weight[i] = fmaf(weight[i], correction, scores[i] + scores[i + 2]);
#pragma unroll
        for (int j = 0; j < kValueLoads; ++j) {
#pragma unroll
          for (int pair = 0; pair < 4; ++pair) {
            sum[j][pair][i] *= correction;
            sum[j][pair][i + 2] *= correction;
          }
        }
      }
    }

    ETC_DEVICE void MergeLanes() {
      weight[0] = HeadSum(weight[0]);
      weight[1] = HeadSum(weight[1]);
    }
  };

  /// Joins the warps for the heads `head` and `head` + 1, and stores the result.
  template <class Pointer>
  static ETC_DEVICE void MergeWarps(Consumer& consumer, const State& state, int head,
                                    Pointer partial, i64 head_stride) {
    float* records = Records(consumer);
    int g = consumer.lane / 4;
    if (consumer.lane % 4 * 2 == head) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float* record = records + (consumer.warp * 2 + i) * kRecord;
#pragma unroll
        for (int j = 0; j < kValueLoads; ++j) {
#pragma unroll
          for (int pair = 0; pair < 4; ++pair) {
            record[j * 64 + g * 8 + pair * 2] = state.sum[j][pair][i];
            record[j * 64 + g * 8 + pair * 2 + 1] = state.sum[j][pair][i + 2];
          }
        }
        if (g == 0) {
          record[kDim] = state.top[i];
          record[kDim + 1] = state.weight[i];
        }
      }
    }
    consumer.Sync();
    int i = consumer.thread / kDim;
    int d = consumer.thread % kDim;
    if (i < 2 && head + i < kGroup) {
      const float* record = records + i * kRecord;
      float top = NegativeInfinity();
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) {
        top = fmaxf(top, record[warp * 2 * kRecord + kDim]);
      }
      float sum = 0, weight = 0;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) {
        const float* other = record + warp * 2 * kRecord;
        float factor = Factor(other[kDim], top);
        sum = fmaf(factor, other[d], sum);
        weight = fmaf(factor, other[kDim + 1], weight);
      }
      auto out = partial + (head + i) * head_stride;
      StoreElement(out, d, sum);
      if (d == 0) {
        StoreElement(out, kDim, top * kLn2);
        StoreElement(out, kDim + 1, weight);
      }
    }
  }
};

}  // namespace etc
