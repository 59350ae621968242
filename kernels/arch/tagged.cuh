// Tagged buffers: data that is its own flag. Each 8-byte word holds 4 bytes of data, one float or
// two neighbouring bf16, and the tag of the launch that wrote it. A word is stored and loaded as a
// whole, so a reader that finds this launch's tag has this launch's data: there is nothing to wait
// for but the data itself, and no order to keep between words.
#pragma once

#include "arch/types.cuh"

namespace etc {

template <class T>
struct Tagged {
  static constexpr int kPerWord = 4 / int(sizeof(T));

  u64* words;
  u32 tag;

  /// Moves by elements, whole words of them. The compiler may not see through it: it would compute
  /// the addresses of all shares of a kernel ahead of its loops, and run out of registers.
  ETC_DEVICE Tagged operator+(i64 elements) const {
    u64* moved = words + elements / kPerWord;
    asm volatile("" : "+l"(moved));
    return {moved, tag};
  }
};

template <class Pointer>
struct IsTagged {
  static constexpr bool value = false;
};
template <class T>
struct IsTagged<Tagged<T>> {
  static constexpr bool value = true;
};

/// What a pointer, plain or tagged, points to.
template <class Pointer>
struct ElementOf;
template <class T>
struct ElementOf<T*> {
  using type = T;
};
template <class T>
struct ElementOf<const T*> {
  using type = T;
};
template <class T>
struct ElementOf<Tagged<T>> {
  using type = T;
};

/// A word that counts as arrived.
ETC_DEVICE u64 TagWord(u32 data, u32 tag) { return u64(tag) << 32 | data; }
ETC_DEVICE u32 TagOf(u64 word) { return u32(word >> 32); }

ETC_DEVICE void StoreTagged(u64* address, u32 data, u32 tag) {
  asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(address), "l"(TagWord(data, tag))
               : "memory");
}
ETC_DEVICE void StoreTagged(u64* address, Vec4 data, u32 tag) {
  asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(address),
               "l"(TagWord(data.x, tag)), "l"(TagWord(data.y, tag))
               : "memory");
  asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(address + 2),
               "l"(TagWord(data.z, tag)), "l"(TagWord(data.w, tag))
               : "memory");
}

// Loads a word, or two, where they have another tag; says whether they had. Relaxed: never from a
// stale line of L1. Volatile, so that many stay in flight: a caller fetches everything, then calls
// again until nothing was missing. Words start as 0, which no launch's tag is.
ETC_DEVICE bool FetchMissing(u64& word, const u64* address, u32 tag) {
  u32 missing = TagOf(word) ^ tag;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %2, 0;\n"
      "@p ld.relaxed.gpu.global.b64 %0, [%1];\n"
      "}"
      : "+l"(word)
      : "l"(address), "r"(missing)
      : "memory");
  return missing != 0;
}
ETC_DEVICE bool FetchMissing(u64& first, u64& second, const u64* address, u32 tag) {
  u32 missing = (TagOf(first) ^ tag) | (TagOf(second) ^ tag);
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %3, 0;\n"
      "@p ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];\n"
      "}"
      : "+l"(first), "+l"(second)
      : "l"(address), "r"(missing)
      : "memory");
  return missing != 0;
}

/// An element that is on its way; ToFloat waits for it.
template <class T>
struct Arriving {
  u64 word;
  const u64* address;
  u32 tag;
  bool high;  // the second bf16 of its word
};
template <class T>
ETC_DEVICE float ToFloat(Arriving<T> element) {
  while (FetchMissing(element.word, element.address, element.tag)) {
  }
  u32 data = u32(element.word);
  if constexpr (Tagged<T>::kPerWord == 1) {
    return BitsToFloat(data);
  } else {
    return ToFloat(bf16{u16(element.high ? data >> 16 : data)});
  }
}

/// Starts to read element i.
template <class T>
ETC_DEVICE T ReadElement(const T* from, i64 i) {
  return from[i];
}
template <class T>
ETC_DEVICE Arriving<T> ReadElement(Tagged<T> from, i64 i) {
  Arriving<T> element{0, from.words + i / Tagged<T>::kPerWord, from.tag,
                      i % Tagged<T>::kPerWord != 0};
  FetchMissing(element.word, element.address, element.tag);
  return element;
}

/// Stores element i with the rounding of its type. Where `to` is tagged, the lanes 2j and 2j + 1
/// store the neighbours i and i + 1 together, i even.
template <class T>
ETC_DEVICE void StoreElement(T* to, i64 i, float value) {
  to[i] = FromFloat<T>(value);
}
ETC_DEVICE void StoreElement(Tagged<float> to, i64 i, float value) {
  StoreTagged(to.words + i, FloatToBits(value), to.tag);
}
ETC_DEVICE void StoreElement(Tagged<bf16> to, i64 i, float value) {
  u32 pair = 3u << (threadIdx.x % 32 & 30);
  float next = __shfl_xor_sync(pair, value, 1);
  if (i % 2 == 0) {
    StoreTagged(to.words + i / 2, PackBf16(value, next), to.tag);
  }
}

}  // namespace etc
