// Words of 4 bytes, `int` or `float`, of tensors that are plain or flagged.
#pragma once

#include "arch/sm90/flagged.cuh"
#include "arch/sm90/memory.cuh"

namespace etc {

/// A word of 4 bytes, plain or flagged, that is on its way. Plain ones come from L2: another layer
/// may have had other data at the same place. All lanes of a warp finish together; a word that is
/// not wanted is 0. Look tells all lanes whether every word has come.
template <class T>
struct ArrivingWord {
  u32 word;
  ETC_DEVICE void Start(const T* from, int i, bool wanted) {
    word = wanted ? LoadRelaxed(reinterpret_cast<const u32*>(from) + i) : 0;
  }
  ETC_DEVICE bool Look(const T*, int) const { return true; }
  ETC_DEVICE u32 Finish(const T*, int) const { return word; }
};
template <class T>
struct ArrivingWord<Flagged<T>> {
  u32 word;
  ETC_DEVICE void Start(Flagged<T> from, int i, bool wanted) {
    word = wanted ? 0 : ToFlagged(0);
    FetchMissing(word, from.Word(u32(i)));
  }
  ETC_DEVICE bool Look(Flagged<T> from, int i) {
    return !AnyLane(FetchMissing(word, from.Word(u32(i))));
  }
  ETC_DEVICE u32 Finish(Flagged<T> from, int i) {
    while (!Look(from, i)) {
    }
    return FromFlagged(word);
  }
};
template <class T>
struct ArrivingWord<const T*> : ArrivingWord<T> {};
template <class T>
struct ArrivingWord<T*> : ArrivingWord<T> {};

/// Element i, of `int` or `float` bits.
template <class Pointer>
ETC_DEVICE u32 ReadWord(Pointer from, int i) {
  ArrivingWord<Pointer> arriving;
  arriving.Start(from, i, true);
  return arriving.Finish(from, i);
}

/// Stores the bits of element i.
template <class T>
ETC_DEVICE void StoreWord(T* to, int i, u32 word) {
  reinterpret_cast<u32*>(to)[i] = word;
}
template <class T>
ETC_DEVICE void StoreWord(Flagged<T> to, int i, u32 word) {
  StoreFlagged(to.Word(u32(i)), word);
}

}  // namespace etc
