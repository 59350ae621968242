// Runs of 1, 2 or 4 neighbouring elements, flagged ones of whole words, phased ones of 4, that
// start at a multiple of their number: read and stored in as few instructions as their width
// allows.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/phased.cuh"

namespace etc {

/// A run that is on its way. Fetch fetches what was missing of it at the last look, and says
/// whether anything was; Take gives what has come; Get waits for it.
template <class Pointer, int run>
struct ElementRun;

template <class T, int run>
struct ElementRun<const T*, run> {
  struct alignas(run * sizeof(T)) Elements {
    T at[run];
  } elements;

  ETC_DEVICE void Start(const T* from) { elements = *reinterpret_cast<const Elements*>(from); }
  ETC_DEVICE bool Fetch() const { return false; }
  ETC_DEVICE void Take(float (&values)[run]) const {
#pragma unroll
    for (int i = 0; i < run; ++i) {
      values[i] = ToFloat(elements.at[i]);
    }
  }
  ETC_DEVICE void Get(float (&values)[run]) const { Take(values); }
};
template <class T, int run>
struct ElementRun<T*, run> : ElementRun<const T*, run> {};

template <class T, int run>
struct ElementRun<Flagged<T>, run> {
  static constexpr int kPerWord = Flagged<T>::kPerWord;
  static constexpr int kWords = run / kPerWord;
  u32 words[kWords];
  const u32* address;

  ETC_DEVICE bool Fetch() {
    bool missing = false;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      missing |= FetchMissing(words[i], address + i);
    }
    return missing;
  }
  ETC_DEVICE void Take(float (&values)[run]) const {
#pragma unroll
    for (int i = 0; i < run; ++i) {
      u32 data = FromFlagged(words[i / kPerWord]);
      if constexpr (kPerWord == 1) {
        values[i] = BitsToFloat(data);
      } else {
        values[i] = i % 2 == 0 ? LowBf16(data) : HighBf16(data);
      }
    }
  }
  ETC_DEVICE void Get(float (&values)[run]) const {
    ElementRun arrived = *this;
    while (arrived.Fetch()) {
    }
    arrived.Take(values);
  }
};

/// Four words of one line, by one load.
template <>
struct ElementRun<Flagged<float>, 4> {
  Vec4 words;
  const u32* address;

  ETC_DEVICE bool Fetch() { return FetchMissing(words, address); }
  ETC_DEVICE void Take(float (&values)[4]) const {
    Vec4 data = FromFlagged(words);
    values[0] = BitsToFloat(data.x), values[1] = BitsToFloat(data.y);
    values[2] = BitsToFloat(data.z), values[3] = BitsToFloat(data.w);
  }
  ETC_DEVICE void Get(float (&values)[4]) const {
    ElementRun arrived = *this;
    while (arrived.Fetch()) {
    }
    arrived.Take(values);
  }
};

template <>
struct ElementRun<Phased<float>, 4> {
  Vec4 words;
  const u32* address;
  Phased<float> from;

  ETC_DEVICE bool Fetch() { return from.FetchMissing(words, address); }
  ETC_DEVICE void Take(float (&values)[4]) const {
    Vec4 data = Phased<float>::Data(words);
    values[0] = BitsToFloat(data.x), values[1] = BitsToFloat(data.y);
    values[2] = BitsToFloat(data.z), values[3] = BitsToFloat(data.w);
  }
};

/// Starts to read the elements from i.
template <int run, class T>
ETC_DEVICE ElementRun<const T*, run> ReadRun(const T* from, i64 i) {
  ElementRun<const T*, run> read;
  read.Start(from + i);
  return read;
}
template <int run, class T>
ETC_DEVICE ElementRun<Flagged<T>, run> ReadRun(Flagged<T> from, i64 i) {
  ElementRun<Flagged<T>, run> read{{}, from.Word(u32(i / Flagged<T>::kPerWord))};
  read.Fetch();
  return read;
}

template <int run>
ETC_DEVICE ElementRun<Phased<float>, run> ReadRun(const Phased<float>& from, i64 i) {
  static_assert(run == 4, "four words are looked at together");
  u32 missing = from.Missing();
  ElementRun<Phased<float>, run> read{
      {missing, missing, missing, missing}, from.Word(u32(i)), from};
  read.Fetch();
  return read;
}

/// Four elements that are there since a phased word is: by loads that L1 does not answer.
ETC_DEVICE ElementRun<const bf16*, 4> ReadRunBehindWords(const bf16* from, i64 i) {
  using Run = ElementRun<const bf16*, 4>;
  const auto* words = reinterpret_cast<const u32*>(from + i);
  alignas(8) const u32 read[2] = {LoadRelaxed(words), LoadRelaxed(words + 1)};
  return {*reinterpret_cast<const Run::Elements*>(read)};
}

/// Stores the elements from i with the rounding of their type.
template <class T, int run>
ETC_DEVICE void StoreRun(T* to, i64 i, const float (&values)[run]) {
  typename ElementRun<T*, run>::Elements elements;
#pragma unroll
  for (int e = 0; e < run; ++e) {
    elements.at[e] = FromFloat<T>(values[e]);
  }
  *reinterpret_cast<decltype(elements)*>(to + i) = elements;
}
ETC_DEVICE void StoreRun(Flagged<float> to, i64 i, const float (&values)[2]) {
  StoreFlagged(to.Word(u32(i)), FloatToBits(values[0]), FloatToBits(values[1]));
}
ETC_DEVICE void StoreRun(Flagged<float> to, i64 i, const float (&values)[4]) {
  StoreFlagged(to.Word(u32(i)), Vec4{FloatToBits(values[0]), FloatToBits(values[1]),
                                     FloatToBits(values[2]), FloatToBits(values[3])});
}
ETC_DEVICE void StoreRun(Flagged<bf16> to, i64 i, const float (&values)[2]) {
  StoreFlagged(to.Word(u32(i / 2)), PackBf16(values[0], values[1]));
}
ETC_DEVICE void StoreRun(Flagged<bf16> to, i64 i, const float (&values)[4]) {
  StoreFlagged(to.Word(u32(i / 2)), PackBf16(values[0], values[1]), PackBf16(values[2], values[3]));
}

}  // namespace etc
