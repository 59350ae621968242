// Phased buffers: data that say in which turn of a launch they were written, by the lowest two bits
// of each float. A reader of turn i looks at a word until it has phase 1 + i % 3. Nobody writes
// turn i + 1 before turn i has been read, so what stands there is of turn i or of the one before
// it, or zero, of phase 0: the launch before has cleared it. So a launch of many turns needs no
// more memory than one of a single turn.
//
// A word needs no fence. What its writer has waited for by an event's counter stands in L2, where
// it belongs; so whoever has seen the word finds it there by loads that L1 does not answer. What
// the writer has read it has read before it had the data of the word.
//
// As of flagged buffers (arch/sm90/flagged.cuh) there are two sets of words, used by turns of
// launches.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/memory.cuh"

namespace etc {

template <class T>
class Phased {
  static_assert(sizeof(T) == 4, "a word is a float");
  static constexpr u32 kBits = 3;

 public:
  Phased() = default;
  /// The whole buffer, as of Flagged. `turn` is one more than the number of the turn that is
  /// written or waited for; 0: another event says that the words are there.
  ETC_DEVICE Phased(void* buffer, u32 set, i64 turn)
      : words_(buffer, set), phase_(turn == 0 ? 0 : 1 + u32(turn - 1) % 3) {}

  ETC_DEVICE Phased operator+(i64 elements) const {
    Phased moved = *this;
    moved.words_ = words_ + elements;
    return moved;
  }
  /// At a peer whose memory lies so many bytes behind.
  ETC_DEVICE Phased MovedBy(i64 bytes) const {
    Phased moved = *this;
    moved.words_.memory += bytes;
    return moved;
  }
  /// Words of one line follow each other.
  ETC_DEVICE u32* Word(u32 word) const { return words_.Word(word); }

  /// The words of floats, which lose their lowest two bits, and the floats of words.
  ETC_DEVICE Vec4 Of(Vec4 data) const { return {Of(data.x), Of(data.y), Of(data.z), Of(data.w)}; }
  static ETC_DEVICE Vec4 Data(Vec4 words) {
    return {words.x & ~kBits, words.y & ~kBits, words.z & ~kBits, words.w & ~kBits};
  }

  /// What a word is before it is looked at first.
  ETC_DEVICE u32 Missing() const { return phase_ ^ kBits; }
  /// Loads four words of one line if one of them is missing; says whether one was.
  ETC_DEVICE bool FetchMissing(Vec4& words, const u32* address) const {
    bool missing =
        (((words.x ^ phase_) | (words.y ^ phase_) | (words.z ^ phase_) | (words.w ^ phase_)) &
         kBits) != 0;
    LoadRelaxedIf(words, address, missing);
    return missing;
  }

 private:
  Flagged<T> words_;
  u32 phase_;

  ETC_DEVICE u32 Of(u32 data) const { return (data & ~kBits) | phase_; }
};

template <class T>
struct ElementOf<Phased<T>> {
  using type = T;
};

template <class Pointer>
struct IsPhased {
  static constexpr bool value = false;
};
template <class T>
struct IsPhased<Phased<T>> {
  static constexpr bool value = true;
};

}  // namespace etc
