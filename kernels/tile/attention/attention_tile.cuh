// What one warp does in attention over a KV cache: both products of 16 positions, and the running
// softmax over those that it has seen.
//
// The query heads that share a KV head are the N side of both products: scores[position, head] =
// k q^T, and sum[d, head] += v^T p^T. Below, g = lane / 4 and q = lane % 4, as the instructions
// have it. Scores are in units of log2, as the exponential takes them.
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/mma.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

/// exp2(score - top), 0 where nothing was seen: then both are minus infinity.
ETC_DEVICE float SoftmaxFactor(float score, float top) { return Exp2(score - fmaxf(top, -1e30f)); }

ETC_SCALAR(ScaleScalar, scale, float, 0);

/// What a product of a query and a key is multiplied by: the scalar `scale`, or 1 / sqrt(D).
template <int kDim, class Args>
ETC_DEVICE float ScoreScale(const Args& args) {
  if constexpr (ScaleScalar<Args>::kExists) {
    return kLog2E * ScaleScalar<Args>::Of(args);
  } else {
    return kLog2E * ReciprocalSqrt(float(kDim));
  }
}

/// The query heads that share a KV head, by eights: the instructions' N. A warp has one eight.
template <int kGroup>
struct HeadBlocks {
  static_assert(kGroup >= 1 && kGroup <= 16, "a KV head serves 1 to 16 query heads");
  static constexpr int kHeads = 8;
  static constexpr int kCount = (kGroup + kHeads - 1) / kHeads;
  static constexpr int kWarps = Consumer::kWarps / kCount;  // that share a block

  /// The first head of the warp whose number (or turn) this is.
  static ETC_DEVICE int First(int turn) { return kCount == 1 ? 0 : turn % kCount * kHeads; }
  /// Its place among the warps that share its block.
  static ETC_DEVICE int Place(int turn) { return turn / kCount; }
};

/// 16 positions, keys and values row by row in shared memory.
template <int kDim>
struct AttentionTile {
  static_assert(kDim % 16 == 0, "a head has a multiple of 16 elements");
  static constexpr int kRows = 16;
  static constexpr int kRowBytes = kDim * 2;
  static constexpr int kKeyLoads = (kDim + 31) / 32;    // loads of a lane in one row of k
  static constexpr int kValueLoads = (kDim + 63) / 64;  // loads of a lane in one row of v

  Vec4 keys[2][kKeyLoads];      // rows g and g + 8; 8 elements at q * 8 of every 32
  Vec4 values[4][kValueLoads];  // rows 2q, 2q + 1, 2q + 8, 2q + 9; 8 elements at g * 8 of every 64

  /// Whether the head has the lane's elements of key load i, and of value load i: where it ends in
  /// the middle of a load, the last lanes have zeros.
  static ETC_DEVICE bool HasKeys(int i, int lane) {
    return i * 32 + 32 <= kDim || i * 32 + lane % 4 * 8 < kDim;
  }
  static ETC_DEVICE bool HasValues(int i, int lane) {
    return i * 64 + 64 <= kDim || i * 64 + lane / 4 * 8 < kDim;
  }

  ETC_DEVICE void LoadKeys(u32 k, int lane) {
    k += lane / 4 * kRowBytes + lane % 4 * 16;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#pragma unroll
      for (int i = 0; i < kKeyLoads; ++i) {
        keys[row][i] = LoadKey(k + row * 8 * kRowBytes, i, lane);
      }
    }
  }
  /// The i-th 32 elements of a row.
  static ETC_DEVICE Vec4 LoadKey(u32 row, int i, int lane) {
    return i * 32 + 32 <= kDim ? LoadShared(row + i * 64)
                               : LoadSharedIf(row + i * 64, HasKeys(i, lane));
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
        values[row][i] = LoadSharedIf(v + offset * kRowBytes + i * 128,
                                      first + offset < rows && HasValues(i, lane));
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
    return ReadValues(read);
  }
  /// `read`, and all loads of the values.
  ETC_DEVICE u32 ReadValues(u32 read) const {
#pragma unroll
    for (int i = 0; i < kValueLoads; ++i) {
      read ^= values[0][i].x ^ values[1][i].x ^ values[2][i].x ^ values[3][i].x;
    }
    return read;
  }

  /// Positions g and g + 8, of each the heads 2q and 2q + 1. query(i) is the second operand for the
  /// i-th 32 elements: the 8 at q * 8 of head g.
  template <class Query>
  ETC_DEVICE void Score(Query query, float scale, float (&scores)[4]) const {
    float other[4] = {};  // a second chain of sums, for latency
#pragma unroll
    for (int i = 0; i < kKeyLoads; ++i) {
      AddScores(keys[0][i], keys[1][i], query(i), scores, other);
    }
    JoinScores(other, scale, scores);
  }

  /// The same of keys that are loaded a part at a time, where registers are short; the result is
  /// made of all of them, as Read is.
  template <class Query>
  static ETC_DEVICE u32 LoadAndScore(u32 k, int lane, Query query, float scale,
                                     float (&scores)[4]) {
    constexpr int at_once = 4, rest = kKeyLoads % at_once;
    k += lane / 4 * kRowBytes + lane % 4 * 16;
    float other[4] = {};
    u32 read = 0;
#pragma unroll
    for (int first = 0; first + at_once <= kKeyLoads; first += at_once) {
      LoadAndAddScores<at_once>(k, first, lane, query, scores, other, read);
    }
    if constexpr (rest > 0) {
      LoadAndAddScores<rest>(k, kKeyLoads - rest, lane, query, scores, other, read);
    }
    JoinScores(other, scale, scores);
    return read;
  }
  template <int count, class Query>
  static ETC_DEVICE void LoadAndAddScores(u32 k, int first, int lane, const Query& query,
                                          float (&scores)[4], float (&other)[4], u32& read) {
    Vec4 low[count], high[count];
#pragma unroll
    for (int i = 0; i < count; ++i) {
      low[i] = LoadKey(k, first + i, lane);
      high[i] = LoadKey(k + 8 * kRowBytes, first + i, lane);
      read ^= low[i].x ^ high[i].x;
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      AddScores(low[i], high[i], query(first + i), scores, other);
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
  template <class Words>
  static ETC_DEVICE void AddScores(const Vec4& low, const Vec4& high, const Words& words,
                                   float (&scores)[4], float (&other)[4]) {
    MmaBf16(scores, low.x, high.x, low.y, high.y, words.x, words.y);
    MmaBf16(other, low.z, high.z, low.w, high.w, words.z, words.w);
  }
  static ETC_DEVICE void JoinScores(const float (&other)[4], float scale, float (&scores)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scores[i] = (scores[i] + other[i]) * scale;
    }
  }
  static ETC_DEVICE void Multiply(float (&sum)[4], u32 row0, u32 row1, u32 row8, u32 row9, u32 p0,
                                  u32 p1) {
    MmaBf16(sum, __byte_perm(row0, row1, 0x5410), __byte_perm(row0, row1, 0x7632),
            __byte_perm(row8, row9, 0x5410), __byte_perm(row8, row9, 0x7632), p0, p1);
  }
};

/// The running softmax of the positions that this warp has seen, heads 2q and 2q + 1.
template <int kDim>
struct AttentionState {
  static constexpr int kValueLoads = AttentionTile<kDim>::kValueLoads;
  // Floats of a head's record in shared memory, which starts at a multiple of 8 bytes.
  static constexpr int kRecord = kDim + 4;

  // Element e of load i is d = i * 64 + g * 8 + e; sum[i][e / 2] has e for both heads, then e
  // + 1.
  float sum[kValueLoads][4][4] = {};
  float top[2] = {NegativeInfinity(), NegativeInfinity()};  // largest scores
  float weight[2] = {};  // sums of the exponentials, of the positions g and g + 8 only

  static ETC_DEVICE float HeadSum(float value) {
#pragma unroll
    for (int offset = 4; offset < 32; offset *= 2) {
      value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
  }

  /// Turns the scores of rows `row` and `row` + 8 into weights, 0 from row `rows` on, and the
  /// sums to the new largest score.
  ETC_DEVICE void Weigh(float (&scores)[4], int row, int rows) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float low = row < rows ? scores[i] : NegativeInfinity();
      float high = row + 8 < rows ? scores[i + 2] : NegativeInfinity();
      float old = top[i];
      top[i] = fmaxf(old, LaneMax<4, 32>(fmaxf(low, high)));
      float correction = SoftmaxFactor(old, top[i]);
      scores[i] = SoftmaxFactor(low, top[i]);
      scores[i + 2] = SoftmaxFactor(high, top[i]);
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

  /// Stores this lane's two heads as records in shared memory, once the lanes are merged: the sums,
  /// the largest score, the sum of the exponentials.
  ETC_DEVICE void Store(u32 records, int lane) const {
    int g = lane / 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      u32 record = records + i * kRecord * 4;
#pragma unroll
      for (int j = 0; j < kValueLoads; ++j) {
        if (!AttentionTile<kDim>::HasValues(j, lane)) {
          continue;
        }
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
          u32 element = record + (j * 64 + g * 8 + pair * 2) * 4;
          StoreShared(element, sum[j][pair][i], sum[j][pair][i + 2]);
        }
      }
      if (g == 0) {
        StoreShared(record + kDim * 4, top[i], weight[i]);
      }
    }
  }
};

}  // namespace etc
