// What one warp does in attention of several rows: both products of 16 queries with 16 positions,
// and the running softmax of the queries.
//
// The queries are the M side of both products: scores[query, position] = q k^T, and sum[query, d]
// += p v. A query is a row and one of the heads that share a KV head. Below, g = lane / 4 and q =
// lane % 4, as the instructions have it: a lane has the queries g and g + 8. Scores are in units of
// log2. Keys and values come from shared memory or from elsewhere, in the order in which
// AttentionTile reads them.
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/mma.cuh"
#include "tile/attention/attention_tile.cuh"

namespace etc {

/// Of values, a warp has kPartDim elements: all, or a part of long heads. The last part may have
/// fewer; what is beyond them is zeros.
template <int kDim, int kPartDim>
struct QueryTile {
  using Places = AttentionTile<kDim>;
  static constexpr int kQueries = 16;
  static constexpr int kPositions = 16;
  static constexpr int kKeyLoads = Places::kKeyLoads;
  static constexpr int kAtOnce = kKeyLoads < 4 ? kKeyLoads : 4;  // key loads that registers hold
  static constexpr int kValueLoads = (kPartDim + 63) / 64;
  static_assert(kDim == kPartDim || kPartDim % 64 == 0, "a part has whole loads");
  // Words of a lane's state: the sums, the largest scores, the weights.
  static constexpr int kStateWords = kValueLoads * 32 + 4;

  // Bytes of a warp's queries in shared memory, each lane's own: registers hold the sums.
  static constexpr int kQueryBytes = 2 * kKeyLoads * 512;

  u32 queries;  // this lane's of g and of g + 8; 8 elements at q * 8 of every 32
  float sum[kValueLoads][8][4] = {};  // element e of 8: queries g, g, g + 8, g + 8 of d = i * 64 +
                                      // 2q * 8 + e, and of d + 8
  float top[2] = {NegativeInfinity(), NegativeInfinity()};
  float weight[2] = {};  // sums of the exponentials of this lane's positions

  /// load(query, i) is the i-th 16 bytes of this lane of a query. They go to `address`, where
  /// nobody else reads them.
  template <class Load>
  ETC_DEVICE QueryTile(u32 address, int lane, const Load& load) : queries(address + lane * 16) {
    Vec4 words[2][kKeyLoads];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < kKeyLoads; ++i) {
        words[half][i] = load(lane / 4 + half * 8, i);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < kKeyLoads; ++i) {
        StoreShared(queries + (half * kKeyLoads + i) * 512, words[half][i]);
      }
    }
  }

  /// Adds 16 positions. load_key(position, i) and load_value(position, i) are the i-th 16 bytes of
  /// this lane, zeros where there is no such position, and attends(query half, position) says which
  /// of them count. Yields a value made of all loads, for Consumer::Release.
  template <class LoadKey, class LoadValue, class Attends>
  ETC_DEVICE u32 Add(int lane, float scale, const LoadKey& load_key, const LoadValue& load_value,
                     const Attends& attends) {
    const int g = lane / 4, q = lane % 4;
    u32 read = 0;
    float scores[2][4] = {};
#pragma unroll
    for (int first = 0; first < kKeyLoads; first += kAtOnce) {
      Vec4 keys[2][kAtOnce];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          if (first + i < kKeyLoads) {
            keys[half][i] = load_key(g + half * 8, first + i);
            read ^= keys[half][i].x;
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i < kKeyLoads) {
          Vec4 low = LoadShared(queries + (first + i) * 512);
          Vec4 high = LoadShared(queries + (kKeyLoads + first + i) * 512);
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const Vec4& key = keys[half][i];
            MmaBf16(scores[half], low.x, high.x, low.y, high.y, key.x, key.y);
            MmaBf16(scores[half], low.z, high.z, low.w, high.w, key.z, key.w);
          }
        }
      }
    }
    Vec4 values[4][kValueLoads];
#pragma unroll
    for (int row = 0; row < 4; ++row) {
#pragma unroll
      for (int i = 0; i < kValueLoads; ++i) {
        values[row][i] = load_value(q * 2 + row % 2 + row / 2 * 8, i);
        read ^= values[row][i].x;
      }
    }
    Weigh(scores, q, scale, attends);
    u32 weights[4] = {PackBf16(scores[0][0], scores[0][1]), PackBf16(scores[0][2], scores[0][3]),
                      PackBf16(scores[1][0], scores[1][1]), PackBf16(scores[1][2], scores[1][3])};
#pragma unroll
    for (int i = 0; i < kValueLoads; ++i) {
      Multiply(sum[i][0], sum[i][1], weights, values[0][i].x, values[1][i].x, values[2][i].x,
               values[3][i].x);
      Multiply(sum[i][2], sum[i][3], weights, values[0][i].y, values[1][i].y, values[2][i].y,
               values[3][i].y);
      Multiply(sum[i][4], sum[i][5], weights, values[0][i].z, values[1][i].z, values[2][i].z,
               values[3][i].z);
      Multiply(sum[i][6], sum[i][7], weights, values[0][i].w, values[1][i].w, values[2][i].w,
               values[3][i].w);
    }
    return read;
  }

  /// Leaves the lane's state in shared memory, from which a lane of the same number joins it.
  ETC_DEVICE void Store(u32 address, int lane) const {
    address += lane * 16;
#pragma unroll
    for (int i = 0; i < kValueLoads; ++i) {
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        StoreShared(address + (i * 8 + e) * 512,
                    Vec4{FloatToBits(sum[i][e][0]), FloatToBits(sum[i][e][1]),
                         FloatToBits(sum[i][e][2]), FloatToBits(sum[i][e][3])});
      }
    }
    StoreShared(address + kValueLoads * 8 * 512,
                Vec4{FloatToBits(top[0]), FloatToBits(top[1]), FloatToBits(weight[0]),
                     FloatToBits(weight[1])});
  }
  ETC_DEVICE void Join(u32 address, int lane) {
    address += lane * 16;
    Vec4 other = LoadShared(address + kValueLoads * 8 * 512);
    const float others[2] = {BitsToFloat(other.x), BitsToFloat(other.y)};
    const float weights[2] = {BitsToFloat(other.z), BitsToFloat(other.w)};
    float mine[2], theirs[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float both = fmaxf(top[half], others[half]);
      mine[half] = SoftmaxFactor(top[half], both);
      theirs[half] = SoftmaxFactor(others[half], both);
      weight[half] = weight[half] * mine[half] + weights[half] * theirs[half];
      top[half] = both;
    }
#pragma unroll
    for (int i = 0; i < kValueLoads; ++i) {
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        Vec4 words = LoadShared(address + (i * 8 + e) * 512);
        sum[i][e][0] = sum[i][e][0] * mine[0] + BitsToFloat(words.x) * theirs[0];
        sum[i][e][1] = sum[i][e][1] * mine[0] + BitsToFloat(words.y) * theirs[0];
        sum[i][e][2] = sum[i][e][2] * mine[1] + BitsToFloat(words.z) * theirs[1];
        sum[i][e][3] = sum[i][e][3] * mine[1] + BitsToFloat(words.w) * theirs[1];
      }
    }
  }

  /// The sum of a query's exponentials, once all lanes have theirs.
  ETC_DEVICE float Weight(int half) const {
    float all = weight[half] + __shfl_xor_sync(0xffffffffu, weight[half], 1);
    return all + __shfl_xor_sync(0xffffffffu, all, 2);
  }

 private:
  /// Turns scores into weights, and the sums to the new largest score.
  template <class Attends>
  ETC_DEVICE void Weigh(float (&scores)[2][4], int q, float scale, const Attends& attends) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = top[half];
#pragma unroll
      for (int block = 0; block < 2; ++block) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = scores[block][half * 2 + i];
          score = attends(half, block * 8 + q * 2 + i) ? score * scale : NegativeInfinity();
          largest = fmaxf(largest, score);
        }
      }
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
      float correction = SoftmaxFactor(top[half], largest);
      top[half] = largest;
      weight[half] *= correction;
#pragma unroll
      for (int block = 0; block < 2; ++block) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = scores[block][half * 2 + i];
          score = SoftmaxFactor(score, largest);
          weight[half] += score;
        }
      }
#pragma unroll
      for (int i = 0; i < kValueLoads; ++i) {
#pragma unroll
        for (int e = 0; e < 8; ++e) {
          sum[i][e][half * 2] *= correction;
          sum[i][e][half * 2 + 1] *= correction;
        }
      }
    }
  }

  /// Two neighbouring elements of a value. A value's neighbours in memory are the same position's,
  /// the operand's are neighbouring positions': two rows are interleaved.
  static ETC_DEVICE void Multiply(float (&even)[4], float (&odd)[4], const u32 (&weights)[4],
                                  u32 row0, u32 row1, u32 row8, u32 row9) {
    MmaBf16(even, weights[0], weights[1], weights[2], weights[3], __byte_perm(row0, row1, 0x5410),
            __byte_perm(row8, row9, 0x5410));
    MmaBf16(odd, weights[0], weights[1], weights[2], weights[3], __byte_perm(row0, row1, 0x7632),
            __byte_perm(row8, row9, 0x7632));
  }
};

}  // namespace etc
