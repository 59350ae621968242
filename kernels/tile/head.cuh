// One attention head of D elements spread over a warp: RMS norm and rotary embedding.
#pragma once

#include "arch/math.cuh"
#include "arch/tagged.cuh"
#include "arch/types.cuh"
#include "tile/options.cuh"

namespace etc {

ETC_OPTION(QkNormOption, qk_norm, bool, false);

/// What a lane needs to turn its elements of a head: all loads stand before those of the head,
/// which may have to be waited for.
template <int kDim>
struct HeadConstants {
  static constexpr int kCount = kDim / 32;

  float norm[kCount];  // once loaded
  float frequency[kCount / 2];

  ETC_DEVICE HeadConstants(const float* inv_freq, int lane) {
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      frequency[i] = inv_freq[lane + 32 * i];
    }
  }
  template <class Weight>
  ETC_DEVICE void LoadNorm(const Weight* weight, int lane) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      norm[i] = ToFloat(weight[lane + 32 * i]);
    }
  }
};

/// The rotation of one position, as a lane needs it.
template <int kDim>
struct Rotation {
  static constexpr int kCount = kDim / 64;

  float sine[kCount], cosine[kCount];

  ETC_DEVICE Rotation(const HeadConstants<kDim>& constants, int position) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      SinCos(float(position) * constants.frequency[i], sine[i], cosine[i]);
    }
  }
};

/// A lane has the elements lane + 32 * i, so that both halves of a rotated pair are its own.
template <int kDim>
struct Head {
  static_assert(kDim % 64 == 0, "a head has a multiple of 64 elements");
  static constexpr int kCount = kDim / 32;

  float value[kCount];

  Head() = default;

  ETC_DEVICE Head(const bf16* source, int lane) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      value[i] = ToFloat(source[lane + 32 * i]);
    }
  }

  ETC_DEVICE Head(Tagged<bf16> source, int lane) {
    u32 words[kCount] = {};
    bool missing = true;
    while (missing) {
      missing = false;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        missing |= FetchMissing(words[i], source.Word((lane + 32 * i) / 2));
      }
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      u32 data = TagData(words[i]);
      value[i] = lane % 2 ? HighBf16(data) : LowBf16(data);
    }
  }

  ETC_DEVICE void Normalise(const HeadConstants<kDim>& constants, float eps) {
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      squares = fmaf(value[i], value[i], squares);
    }
    float scale = ReciprocalSqrt(GroupSum<32>(squares) * (1.0f / kDim) + eps);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      value[i] *= scale * constants.norm[i];
    }
  }

  /// Rotates element i with element i + D / 2.
  ETC_DEVICE void Rotate(const Rotation<kDim>& rotation) {
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      float low = value[i], high = value[i + kCount / 2];
      value[i] = low * rotation.cosine[i] - high * rotation.sine[i];
      value[i + kCount / 2] = high * rotation.cosine[i] + low * rotation.sine[i];
    }
  }

  template <class T>
  ETC_DEVICE void Store(T* destination, int lane) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      destination[lane + 32 * i] = FromFloat<T>(value[i]);
    }
  }
  /// What a reader of the stored bf16 would see.
  ETC_DEVICE void Round() {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      value[i] = ToFloat(FromFloat<bf16>(value[i]));
    }
  }
};

}  // namespace etc
