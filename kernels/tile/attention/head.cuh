// One attention head of D elements spread over a warp: RMS norm and rotary embedding.
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/options.cuh"

namespace etc {

ETC_OPTION(QkNormOption, qk_norm, bool, false);

/// Which elements of a head a lane has: of each half a run of neighbours, so that both elements of
/// a rotated pair are its own.
template <int kDim>
struct HeadPlaces {
  static_assert(kDim == 64 || kDim == 128, "a head has 64 or 128 elements");
  static constexpr int kRun = kDim / 64;
  static constexpr int kCount = 2 * kRun;

  /// Of the lane's i-th element.
  static ETC_DEVICE int Place(int lane, int i) {
    return i / kRun * (kDim / 2) + lane * kRun + i % kRun;
  }
};

/// What a lane needs to turn its elements of a head: all loads stand before those of the head,
/// which may have to be waited for.
template <int kDim>
struct HeadConstants {
  using Places = HeadPlaces<kDim>;
  static constexpr int kCount = Places::kCount;

  float norm[kCount];  // once loaded
  float frequency[kCount / 2];

  ETC_DEVICE HeadConstants(const float* inv_freq, int lane) {
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      frequency[i] = inv_freq[Places::Place(lane, i)];
    }
  }
  template <class Weight>
  ETC_DEVICE void LoadNorm(const Weight* weight, int lane) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      norm[i] = ToFloat(weight[Places::Place(lane, i)]);
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

/// A lane's elements as they are in memory, a word for each half: many heads can be on their way.
template <int kDim>
struct HeadWords {
  using Places = HeadPlaces<kDim>;

  u32 words[2];

  HeadWords() = default;

  ETC_DEVICE HeadWords(const bf16* source, int lane) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const bf16* run = source + Places::Place(lane, half * Places::kRun);
      if constexpr (Places::kRun == 2) {
        words[half] = *reinterpret_cast<const u32*>(run);
      } else {
        words[half] = run->bits;
      }
    }
  }

  ETC_DEVICE HeadWords(Flagged<bf16> source, int lane) {
    words[0] = words[1] = 0;
    bool missing = true;
    while (missing) {
      missing = false;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int place = Places::Place(lane, half * Places::kRun);
        missing |= FetchMissing(words[half], source.Word(place / 2));
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      u32 data = FromFlagged(words[half]);
      words[half] = Places::kRun == 1 && lane % 2 != 0 ? data >> 16 : data;
    }
  }
};

/// A lane's elements, to compute with.
template <int kDim>
struct Head {
  using Places = HeadPlaces<kDim>;
  static constexpr int kRun = Places::kRun;
  static constexpr int kCount = Places::kCount;

  float value[kCount];

  ETC_DEVICE Head(const HeadWords<kDim>& source) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      u32 word = source.words[i / kRun];
      value[i] = i % kRun == 0 ? LowBf16(word) : HighBf16(word);
    }
  }
  template <class Source>
  ETC_DEVICE Head(Source source, int lane) : Head(HeadWords<kDim>(source, lane)) {}

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
    for (int half = 0; half < 2; ++half) {
      float run[kRun];
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        run[i] = value[half * kRun + i];
      }
      StoreRun(destination, Places::Place(lane, half * kRun), run);
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
