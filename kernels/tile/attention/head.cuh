// One attention head of D elements spread over a warp: RMS norm and rotary embedding.
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/options.cuh"

namespace etc {

ETC_OPTION(QkNormOption, qk_norm, bool, false);
ETC_SCALAR(NormOffsetScalar, norm_offset, float, 0);  // added to the weights of the norms

/// Which elements of a head a lane has: of each half a run of neighbours, so that both elements of
/// a rotated pair are its own. Where the halves have no run for each lane, the last lanes have
/// none; they compute with zeros.
template <int kDim>
struct HeadPlaces {
  static_assert(kDim % 16 == 0 && kDim <= 256, "a head has a multiple of 16 elements, at most 256");
  static constexpr int kRun = kDim <= 64 ? 1 : kDim <= 128 ? 2 : 4;
  static constexpr int kCount = 2 * kRun;
  static constexpr int kLanes = kDim / 2 / kRun;
  static_assert(kLanes * kRun * 2 == kDim, "the halves of a head are whole runs");

  /// Whether the lane has elements.
  static ETC_DEVICE bool Has(int lane) { return kLanes == 32 || lane < kLanes; }

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
      frequency[i] = Places::Has(lane) ? inv_freq[Places::Place(lane, i)] : 0;
    }
  }
  template <class Args, class Weight>
  ETC_DEVICE void LoadNorm(const Args& args, const Weight* weight, int lane) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      norm[i] = Places::Has(lane) ? ToFloat(weight[Places::Place(lane, i)]) : 0;
      if constexpr (NormOffsetScalar<Args>::kExists) {
        norm[i] += NormOffsetScalar<Args>::Of(args);
      }
    }
  }
};

/// The rotation of one position, as a lane needs it.
template <int kDim>
struct Rotation {
  static constexpr int kCount = HeadPlaces<kDim>::kRun;

  float sine[kCount], cosine[kCount];

  ETC_DEVICE Rotation(const HeadConstants<kDim>& constants, int position) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      SinCos(float(position) * constants.frequency[i], sine[i], cosine[i]);
    }
  }
};

/// A lane's elements as they are in memory, the words of each half: many heads can be on their way.
template <int kDim>
struct HeadWords {
  using Places = HeadPlaces<kDim>;
  static constexpr int kHalfWords = (Places::kRun + 1) / 2;

  u32 words[2 * kHalfWords];

  HeadWords() = default;

  ETC_DEVICE HeadWords(const bf16* source, int lane) {
#pragma unroll
    for (int i = 0; i < 2 * kHalfWords; ++i) {
      const bf16* pair = source + Places::Place(lane, PlaceOf(i));
      if (!Places::Has(lane)) {
        words[i] = 0;
      } else if constexpr (Places::kRun > 1) {
        words[i] = *reinterpret_cast<const u32*>(pair);
      } else {
        words[i] = pair->bits;
      }
    }
  }

  ETC_DEVICE HeadWords(Flagged<bf16> source, int lane) {
#pragma unroll
    for (u32& word : words) {
      word = Places::Has(lane) ? 0 : ToFlagged(0);
    }
    bool missing = true;
    while (AnyLane(missing)) {
      missing = false;
#pragma unroll
      for (int i = 0; i < 2 * kHalfWords; ++i) {
        int place = Places::Place(lane, PlaceOf(i));
        missing |= FetchMissing(words[i], source.Word(place / 2));
      }
    }
#pragma unroll
    for (u32& word : words) {
      u32 data = FromFlagged(word);
      word = Places::kRun == 1 && lane % 2 != 0 ? data >> 16 : data;
    }
  }

  /// Which of the lane's elements a word begins with.
  static ETC_DEVICE int PlaceOf(int word) {
    return word / kHalfWords * Places::kRun + word % kHalfWords * 2;
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
      u32 word = source.words[kRun == 1 ? i : i / 2];
      value[i] = kRun == 1 || i % 2 == 0 ? LowBf16(word) : HighBf16(word);
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
    if (!Places::Has(lane)) {
      return;
    }
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
