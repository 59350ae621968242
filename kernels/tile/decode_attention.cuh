// One new token's attention over the KV cache, split over the positions: norm and rotary embedding
// of q and k, the append of k and v to the cache, and one split's part of the softmax.
// AttentionCombine joins the splits.
//
// Config: may have qk_norm and eps (RMS norm of each head with the weights q_norm and k_norm).
// Args: qkv [B, (H + 2 KV) D], pos [B], inv_freq [D / 2], k_cache and v_cache [B, KV, T, D],
// partial [B, H, S, D + 2]: the sum of exp(score - m) v, then m, then the sum of exp(score - m).
// Task (b, h, s): KV head h, with its group of query heads, and split s of positions 0 to pos[b].
//
// A warp takes 16 positions at a time, straight from the cache into tensor core operands. The
// group's query heads are the N side of both products: scores[position, head] = k q^T, and out[d,
// head] += v^T p^T. Below, g = lane / 4 and q = lane % 4, as the instructions have it.
#pragma once

#include "arch/math.cuh"
#include "arch/memory.cuh"
#include "arch/mma.cuh"
#include "tile/head.cuh"
#include "tile/options.cuh"
#include "tile/roles.cuh"

namespace etc {

template <class Config, class Args>
struct DecodeAttention {
  static constexpr int kDim = int(Args::k_cache_3);
  static constexpr int kKvHeads = int(Args::k_cache_1);
  static constexpr int kHeads = int(Args::partial_1);
  static constexpr int kGroup = kHeads / kKvHeads;  // query heads that share a KV head
  static_assert(kHeads % kKvHeads == 0, "each KV head serves as many query heads");
  static_assert(kGroup <= 8, "a KV head serves at most 8 query heads");
  static_assert(kDim == 64 || kDim == 128, "a head has 64 or 128 elements");

  static constexpr int kWarps = Consumer::kWarps;
  static constexpr int kTile = 16;                // positions of a warp's step
  static constexpr int kStride = kTile * kWarps;  // positions of a step of all warps
  static constexpr int kKeyLoads = kDim / 32;     // loads of a lane in one row of k
  static constexpr int kValueLoads = kDim / 64;   // loads of a lane in one row of v
  static constexpr int kRecord = kDim + 2;

  static constexpr int kSlotBytes = 0;
  static constexpr int kQueryBytes = 8 * kDim * 2;
  static constexpr int kScratchBytes = kQueryBytes + 2 * kDim * 4 + kWarps * 2 * kRecord * 4;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int, int) {}

  /// The cached positions of the split that are read first; more would delay the task itself.
  static ETC_DEVICE void Prefetch(const Consumer& consumer, const Args& args, int b, int h, int s) {
    constexpr int line = 64;  // elements of 128 bytes
    constexpr int lines = kDim / line;
    int position = args.pos[b];
    int splits = int(args.partial_2);
    int chunk = (position + splits) / splits;
    int begin = s * chunk;
    int end = min(min(begin + chunk, position), begin + kStride);
    i64 cache = ((i64(b) * kKvHeads + h) * args.k_cache_2 + begin) * kDim;
    for (int i = consumer.thread; i < (end - begin) * lines; i += Consumer::kThreads) {
      PrefetchLine(args.k_cache + cache + i * line);
      PrefetchLine(args.v_cache + cache + i * line);
    }
  }

  ETC_DEVICE DecodeAttention(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int h, int s) {
    int position = args.pos[b];
    int splits = int(args.partial_2);
    int chunk = (position + splits) / splits;
    int begin = s * chunk;
    int end = min(begin + chunk, position + 1);
    bool appends = begin <= position && position < end;
    int cached_end = min(end, position);

    i64 cache = (i64(b) * kKvHeads + h) * args.k_cache_2 * kDim;
    const bf16* k = args.k_cache + cache;
    const bf16* v = args.v_cache + cache;
    int first = begin + consumer.warp * kTile;
    Tile tile;
    tile.FetchKeys(k, first, cached_end, consumer.lane);
    tile.FetchValues(v, first, cached_end, consumer.lane);

    Prepare(consumer, args, b, h, position, appends);
    consumer.Sync();
    State state;
    if (appends && consumer.warp == 0) {
      state.Start(consumer);
    }
#pragma unroll 1
    for (int p = first; p < cached_end; p += kStride) {
      float scores[4] = {};
      tile.Score(consumer, scores);
      tile.FetchKeys(k, p + kStride, cached_end, consumer.lane);
      state.Weigh(scores, p + consumer.lane / 4, cached_end);
      tile.Accumulate(scores, state.sum);
      tile.FetchValues(v, p + kStride, cached_end, consumer.lane);
    }
    state.MergeLanes();
    auto partial = args.partial + ((i64(b) * kHeads + h * kGroup) * splits + s) * kRecord;
#pragma unroll 1
    for (int head = 0; head < kGroup; head += 2) {
      if (head > 0) {
        consumer.Sync();
      }
      MergeWarps(consumer, state, head, partial, i64(splits) * kRecord);
    }
  }

 private:
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

  /// Leaves the queries in scratch; in the split that appends, the new key and value too, and those
  /// in the cache. A warp for each head.
  static ETC_DEVICE void Prepare(const Consumer& consumer, const Args& args, int b, int h,
                                 int position, bool appends) {
    constexpr bool qk_norm = QkNormOption<Config>::value;
    auto qkv = args.qkv + i64(b) * args.qkv_1;
    int lane = consumer.lane;
    i64 cache = ((i64(b) * kKvHeads + h) * args.k_cache_2 + position) * kDim;
    int items = kGroup + (appends ? 2 : 0);
#pragma unroll 1
    for (int item = consumer.warp; item < items; item += kWarps) {
      if (item < kGroup) {
        Head<kDim> head(qkv + (h * kGroup + item) * kDim, lane);
        if constexpr (qk_norm) {
          head.Normalise(args.q_norm, float(Config::eps), lane);
        }
        head.Rotate(position, args.inv_freq, lane);
        head.Store(Queries(consumer) + item * kDim, lane);
      } else if (item == kGroup) {
        Head<kDim> head(qkv + (kHeads + h) * kDim, lane);
        if constexpr (qk_norm) {
          head.Normalise(args.k_norm, float(Config::eps), lane);
        }
        head.Rotate(position, args.inv_freq, lane);
        head.Round();
        head.Store(args.k_cache + cache, lane);
        head.Store(NewKey(consumer), lane);
      } else {
        Head<kDim> head(qkv + (kHeads + kKvHeads + h) * kDim, lane);
        head.Store(args.v_cache + cache, lane);
        head.Store(NewValue(consumer), lane);
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

  /// 16 positions of the cache. What lies beyond `end` is zeros.
  struct Tile {
    Vec4 keys[2][kKeyLoads];  // rows g and g + 8; 8 elements at q * 8 of every 32
    Vec4 values[4]
               [kValueLoads];  // rows 2q, 2q + 1, 2q + 8, 2q + 9; 8 elements at g * 8 of every 64

    ETC_DEVICE void FetchKeys(const bf16* k, int p, int end, int lane) {
      p += lane / 4;
      const bf16* source = k + i64(p) * kDim + lane % 4 * 8;
#pragma unroll
      for (int row = 0; row < 2; ++row) {
#pragma unroll
        for (int i = 0; i < kKeyLoads; ++i) {
          keys[row][i] = LoadGlobalIf(source + row * 8 * kDim + i * 32, p + row * 8 < end);
        }
      }
    }
    ETC_DEVICE void FetchValues(const bf16* v, int p, int end, int lane) {
      p += lane % 4 * 2;
      const bf16* source = v + i64(p) * kDim + lane / 4 * 8;
#pragma unroll
      for (int row = 0; row < 4; ++row) {
#pragma unroll
        for (int i = 0; i < kValueLoads; ++i) {
          int offset = row % 2 + row / 2 * 8;
          values[row][i] = LoadGlobalIf(source + offset * kDim + i * 64, p + offset < end);
        }
      }
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
#pragma unroll 2
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

    /// Turns the scores of positions p and p + 8 into weights, and the sums to the new largest
    /// score.
    ETC_DEVICE void Weigh(float (&scores)[4], int p, int end) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float low = p < end ? scores[i] : NegativeInfinity();
        float high = p + 8 < end ? scores[i + 2] : NegativeInfinity();
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
