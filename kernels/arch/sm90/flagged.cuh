// Flagged buffers: data that is its own flag. A word of 4 bytes, one float or two neighbouring
// bf16, is zero until its writer stores the complement of the data, which is never zero: no result
// has all bits set. So a reader that finds anything else than zero has the data: there is nothing
// to wait for but the data itself, and no order to keep between words.
//
// There are two sets of words, used by turns: a launch writes one, which it finds zero, and clears
// what the launch before wrote to the other (FlagState in engine/events.cuh). They alternate every
// 128 bytes, so that a word's set does not depend on how the sizes of a launch divide the memory.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/registers.cuh"

namespace etc {

template <class T>
struct Flagged {
  static constexpr int kPerWord = 4 / int(sizeof(T));
  static constexpr int kLineWords = 32;

  char* memory;  // of the first word in the launch's set
  u32 first;     // word, counted in one set

  Flagged() = default;
  /// The whole buffer, which starts at a multiple of 256 bytes; set is 0 or 1.
  ETC_DEVICE Flagged(void* buffer, u32 set)
      : memory(static_cast<char*>(buffer) + set * (kLineWords * 4)), first(0) {}

  /// Moves by elements, whole words of them. Opaque, or the compiler would compute the addresses of
  /// all shares of a kernel ahead of its loops.
  ETC_DEVICE Flagged operator+(i64 elements) const {
    Flagged moved = *this;
    moved.first = Opaque(first + u32(elements / kPerWord));
    return moved;
  }
  /// Words of one line follow each other.
  ETC_DEVICE u32* Word(u32 word) const {
    return reinterpret_cast<u32*>(memory) + Place(first + word);
  }
  /// Where a word lies, counted in words of both sets. Word(a) + Place(b) is Word(a + b) if a and b
  /// start in one line behind a line's start and do not reach the next line together.
  static constexpr ETC_DEVICE u32 Place(u32 word) { return word * 2 - word % kLineWords; }
};

template <class Pointer>
struct IsFlagged {
  static constexpr bool value = false;
};
template <class T>
struct IsFlagged<Flagged<T>> {
  static constexpr bool value = true;
};

/// What a pointer, plain or flagged, points to.
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
struct ElementOf<Flagged<T>> {
  using type = T;
};

/// The word of data, and the data of a word. All bits set would be two NaNs or one, and becomes
/// another.
ETC_DEVICE u32 ToFlagged(u32 data) { return ~(data == 0xffffffffu ? 0x7fffffffu : data); }
ETC_DEVICE u32 FromFlagged(u32 word) { return ~word; }
ETC_DEVICE Vec4 FromFlagged(Vec4 words) { return {~words.x, ~words.y, ~words.z, ~words.w}; }

ETC_DEVICE void StoreFlagged(u32* address, u32 data) { StoreRelaxed(address, ToFlagged(data)); }
// Two or four words of one line, aligned to all of them.
ETC_DEVICE void StoreFlagged(u32* address, u32 first, u32 second) {
  StoreRelaxed(address, ToFlagged(first), ToFlagged(second));
}
ETC_DEVICE void StoreFlagged(u32* address, Vec4 data) {
  StoreRelaxed(address,
               {ToFlagged(data.x), ToFlagged(data.y), ToFlagged(data.z), ToFlagged(data.w)});
}

// Loads a word, or four of one line, where any is missing; says whether one was. Many stay in
// flight: a caller fetches everything, then calls again until nothing was missing. Words start as
// 0, or as ToFlagged of what needs no load.
ETC_DEVICE bool FetchMissing(u32& word, const u32* address) {
  bool missing = word == 0;
  LoadRelaxedIf(word, address, missing);
  return missing;
}
/// Whether any of four words is missing.
ETC_DEVICE bool IsMissing(const Vec4& words) {
  return words.x == 0 || words.y == 0 || words.z == 0 || words.w == 0;
}
ETC_DEVICE bool FetchMissing(Vec4& words, const u32* address) {
  bool missing = IsMissing(words);
  LoadRelaxedIf(words, address, missing);
  return missing;
}

/// Whether any lane of a warp has this, the same for all of them. A loop that fetches what is
/// missing ends for all lanes together: where some left it alone, the compiler would make a second,
/// slow way of each shuffle behind it.
ETC_DEVICE bool AnyLane(bool value) { return __any_sync(0xffffffffu, value); }

/// Stores element i with the rounding of its type. Where `to` is flagged, the lanes 2j and 2j + 1
/// store the neighbours i and i + 1 together, i even.
template <class T>
ETC_DEVICE void StoreElement(T* to, i64 i, float value) {
  to[i] = FromFloat<T>(value);
}
ETC_DEVICE void StoreElement(Flagged<float> to, i64 i, float value) {
  StoreFlagged(to.Word(u32(i)), FloatToBits(value));
}
ETC_DEVICE void StoreElement(Flagged<bf16> to, i64 i, float value) {
  u32 pair = 3u << (threadIdx.x % 32 & 30);
  float next = __shfl_xor_sync(pair, value, 1);
  if (i % 2 == 0) {
    StoreFlagged(to.Word(u32(i / 2)), PackBf16(value, next));
  }
}

}  // namespace etc
