// One new token's attention over the KV cache, split over the positions: norm and rotary embedding
// of q and k, the append of k and v to the cache, and one split's part of the softmax.
// AttentionCombine joins the splits.
//
// Config: may have qk_norm and eps (RMS norm of each head with the weights q_norm and k_norm).
// Args: qkv [B, (H + 2 KV) D], pos [B], inv_freq [D / 2], k_cache and v_cache [B, KV, T, D],
// partial [B, H, S, D + 2]: the sum of exp(score - m) v, then m, then the sum of exp(score - m).
// Task (b, h, s): KV head h, with its group of query heads, and split s of positions 0 to pos[b].
#pragma once

#include "arch/math.cuh"
#include "arch/memory.cuh"
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
  static_assert(kDim == 64 || kDim == 128, "a head has 64 or 128 elements");

  static constexpr int kWarps = Consumer::kWarps;
  static constexpr int kLanes = kDim / 8;                  // lanes that read one position
  static constexpr int kRows = 32 / kLanes;                // positions that a warp reads at once
  static constexpr int kStride = kRows * kWarps;           // positions that all warps read at once
  static constexpr int kFlight = kGroup <= 4 ? 4 : 2;      // such reads in flight
  static constexpr bool kHeldQueries = kGroup <= 2;        // in registers; more heads need too many
  static constexpr int kMerged = kGroup < 2 ? kGroup : 2;  // heads merged over the warps at a time
  static constexpr int kRecord = kDim + 2;

  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = (kGroup * kDim + 2 * kDim + kWarps * kMerged * kRecord) * 4;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int, int) {}

  ETC_DEVICE DecodeAttention(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int h, int s) {
    int position = args.pos[b];
    int splits = int(args.partial_2);
    int chunk = (position + splits) / splits;
    int begin = s * chunk;
    int end = min(begin + chunk, position + 1);
    bool appends = begin <= position && position < end;
    int cached_end = min(end, position);

    int row = consumer.lane / kLanes;
    int column = consumer.lane % kLanes * 8;
    i64 cache = ((i64(b) * kKvHeads + h) * args.k_cache_2) * kDim;
    const bf16* k = args.k_cache + cache + column;
    const bf16* v = args.v_cache + cache + column;
    int first = begin + consumer.warp * kRows;
    Vec4 keys[kFlight], values[kFlight];
    Fetch(k, first + row, cached_end, keys);
    Fetch(v, first + row, cached_end, values);

    Prepare(consumer, args, b, h, position, appends);
    consumer.Sync();
    State state(consumer, column);
    if (appends && consumer.warp == 0) {
      state.Start(NewKey(consumer) + column, NewValue(consumer) + column, row == 0);
    }
#pragma unroll 1
    for (int p = first; p < cached_end; p += kFlight * kStride) {
      float scores[kFlight][kGroup];
      state.Score(keys, p + row, cached_end, scores);
      Fetch(k, p + kFlight * kStride + row, cached_end, keys);
      state.Weigh(scores);
      state.Accumulate(scores, values);
      Fetch(v, p + kFlight * kStride + row, cached_end, values);
    }
    state.MergeRows();
    float* partial = args.partial + ((i64(b) * kHeads + h * kGroup) * splits + s) * kRecord;
#pragma unroll
    for (int head = 0; head < kGroup; head += kMerged) {
      if (head > 0) {
        consumer.Sync();
      }
      MergeWarps(consumer, state, head, column, partial, i64(splits) * kRecord);
    }
  }

 private:
  static ETC_DEVICE float* Queries(const Consumer& consumer) {
    return reinterpret_cast<float*>(consumer.scratch);
  }
  static ETC_DEVICE float* NewKey(const Consumer& consumer) {
    return Queries(consumer) + kGroup * kDim;
  }
  static ETC_DEVICE float* NewValue(const Consumer& consumer) { return NewKey(consumer) + kDim; }
  static ETC_DEVICE float* Records(const Consumer& consumer) { return NewValue(consumer) + kDim; }

  static ETC_DEVICE void Unpack(Vec4 v, float (&out)[8]) {
    out[0] = LowBf16(v.x), out[1] = HighBf16(v.x), out[2] = LowBf16(v.y), out[3] = HighBf16(v.y);
    out[4] = LowBf16(v.z), out[5] = HighBf16(v.z), out[6] = LowBf16(v.w), out[7] = HighBf16(v.w);
  }

  /// What this lane reads of the positions p, p + kStride, … below `end`; zeros above.
  static ETC_DEVICE void Fetch(const bf16* rows, int p, int end, Vec4 (&out)[kFlight]) {
#pragma unroll
    for (int i = 0; i < kFlight; ++i) {
      out[i] = {0, 0, 0, 0};
      if (p + i * kStride < end) {
        out[i] = LoadGlobal(rows + i64(p + i * kStride) * kDim);
      }
    }
  }

  /// Leaves the scaled queries in scratch; in the split that appends, the new key and value too,
  /// and those in the cache. A warp for each head.
  static ETC_DEVICE void Prepare(const Consumer& consumer, const Args& args, int b, int h,
                                 int position, bool appends) {
    constexpr bool qk_norm = QkNormOption<Config>::value;
    // In units of log2, as the exponential takes them.
    const float scale = kLog2E * ReciprocalSqrt(float(kDim));
    const bf16* qkv = args.qkv + i64(b) * args.qkv_1;
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
#pragma unroll
        for (int i = 0; i < Head<kDim>::kCount; ++i) {
          head.value[i] *= scale;
        }
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

  /// The running softmax of the positions that this lane's row has seen: 8 elements of each head.
  struct State {
    float held[kHeldQueries ? kGroup : 1][8];
    const float* queries;
    float sum[kGroup][8] = {};
    float top[kGroup];          // largest score
    float weight[kGroup] = {};  // sum of the exponentials

    ETC_DEVICE State(const Consumer& consumer, int column) {
      queries = Queries(consumer) + column;
#pragma unroll
      for (int g = 0; g < kGroup; ++g) {
        top[g] = NegativeInfinity();
        if constexpr (kHeldQueries) {
          ReadQuery(g, held[g]);
        }
      }
    }

    ETC_DEVICE void ReadQuery(int g, float (&query)[8]) const {
      const float4* source = reinterpret_cast<const float4*>(queries + g * kDim);
      float4 low = source[0], high = source[1];
      query[0] = low.x, query[1] = low.y, query[2] = low.z, query[3] = low.w;
      query[4] = high.x, query[5] = high.y, query[6] = high.z, query[7] = high.w;
    }

    ETC_DEVICE float Dot(const float (&query)[8], const float (&key)[8]) const {
      float dot = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        dot = fmaf(query[i], key[i], dot);
      }
      return GroupSum<kLanes>(dot);
    }

    /// The new position comes first. All lanes of the warp call; one row counts it.
    ETC_DEVICE void Start(const float* new_key, const float* new_value, bool counts) {
      float key[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        key[i] = new_key[i];
      }
#pragma unroll
      for (int g = 0; g < kGroup; ++g) {
        float query[8];
        ReadQuery(g, query);
        float score = Dot(query, key);
        if (counts) {
          top[g] = score;
          weight[g] = 1.0f;
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            sum[g][i] = new_value[i];
          }
        }
      }
    }

    ETC_DEVICE void Score(const Vec4 (&keys)[kFlight], int p, int end,
                          float (&scores)[kFlight][kGroup]) const {
      float key[kFlight][8];
#pragma unroll
      for (int i = 0; i < kFlight; ++i) {
        Unpack(keys[i], key[i]);
      }
#pragma unroll
      for (int g = 0; g < kGroup; ++g) {
        float query[8];
        if constexpr (kHeldQueries) {
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            query[i] = held[g][i];
          }
        } else {
          ReadQuery(g, query);
        }
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
          float score = Dot(query, key[i]);
          scores[i][g] = p + i * kStride < end ? score : NegativeInfinity();
        }
      }
    }

    /// Turns scores into weights, and what was summed so far to the new largest score.
    ETC_DEVICE void Weigh(float (&scores)[kFlight][kGroup]) {
#pragma unroll
      for (int g = 0; g < kGroup; ++g) {
        float old = top[g];
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
          top[g] = fmaxf(top[g], scores[i][g]);
        }
        float correction = Factor(old, top[g]);
        weight[g] *= correction;
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
          scores[i][g] = Factor(scores[i][g], top[g]);
          weight[g] += scores[i][g];
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          sum[g][i] *= correction;
        }
      }
    }

    ETC_DEVICE void Accumulate(const float (&weights)[kFlight][kGroup],
                               const Vec4 (&values)[kFlight]) {
#pragma unroll
      for (int i = 0; i < kFlight; ++i) {
        float value[8];
        Unpack(values[i], value);
#pragma unroll
        for (int g = 0; g < kGroup; ++g) {
#pragma unroll
          for (int j = 0; j < 8; ++j) {
            sum[g][j] = fmaf(weights[i][g], value[j], sum[g][j]);
          }
        }
      }
    }

    /// Joins the rows of the warp; every row then has the whole.
    ETC_DEVICE void MergeRows() {
#pragma unroll
      for (int g = 0; g < kGroup; ++g) {
        float largest = top[g];
#pragma unroll
        for (int offset = kLanes; offset < 32; offset *= 2) {
          largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
        }
        float factor = Factor(top[g], largest);
        top[g] = largest;
        weight[g] = RowSum(weight[g] * factor);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          sum[g][i] = RowSum(sum[g][i] * factor);
        }
      }
    }

    static ETC_DEVICE float RowSum(float value) {
#pragma unroll
      for (int offset = kLanes; offset < 32; offset *= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
      }
      return value;
    }
  };

  /// exp2(score - top), 0 where nothing was seen: then both are minus infinity.
  static ETC_DEVICE float Factor(float score, float top) {
    return Exp2(score - fmaxf(top, -1e30f));
  }

  /// Joins the warps for the heads from `head` on, and stores the result.
  static ETC_DEVICE void MergeWarps(Consumer& consumer, const State& state, int head, int column,
                                    float* partial, i64 head_stride) {
    float* records = Records(consumer);
    if (consumer.lane < kLanes) {
#pragma unroll
      for (int g = 0; g < kMerged; ++g) {
        if (head + g < kGroup) {
          float* record = records + (consumer.warp * kMerged + g) * kRecord;
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            record[column + i] = state.sum[head + g][i];
          }
          if (consumer.lane == 0) {
            record[kDim] = state.top[head + g];
            record[kDim + 1] = state.weight[head + g];
          }
        }
      }
    }
    consumer.Sync();
    int g = consumer.thread / kDim;
    int d = consumer.thread % kDim;
    if (g < kMerged && head + g < kGroup) {
      const float* record = records + g * kRecord;
      float top = NegativeInfinity();
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) {
        top = fmaxf(top, record[warp * kMerged * kRecord + kDim]);
      }
      float sum = 0, weight = 0;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) {
        const float* other = record + warp * kMerged * kRecord;
        float factor = Factor(other[kDim], top);
        sum = fmaf(factor, other[d], sum);
        weight = fmaf(factor, other[kDim + 1], weight);
      }
      float* out = partial + (head + g) * head_stride;
      out[d] = sum;
      if (d == 0) {
        out[kDim] = top * kLn2;
        out[kDim + 1] = weight;
      }
    }
  }
};

}  // namespace etc
