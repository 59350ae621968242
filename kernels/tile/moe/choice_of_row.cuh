// The experts that one row of router logits goes to, by a warp: the `top` with the largest logits,
// of equal ones the first, and their softmax, over these alone or over all.
//
//   a lane              experts / 32 logits
//   the s-th expert     by two reductions over the warp: the largest key that is left, then the
//                       first expert that has it
//
// Other shares ran before this one, so its code is seldom in an SM's instruction cache: it is
// short, and what is done `top` times is a loop.
#pragma once

#include "arch/common/math.cuh"
#include "engine/options.cuh"
#include "tile/moe/words.cuh"

namespace etc {

/// A lane's part of a row: the experts lane, lane + 32, ... All members are for all lanes.
template <int experts, int top, bool renormalise>
struct ChoiceOfRow {
  static constexpr int kWords = DivideUp(experts, 32);
  static_assert(top <= experts && top <= 32, "a row has no more experts than a warp has lanes");

  float logits[kWords];
  u32 chosen = 0;    // a bit for each of them
  float best_logit;  // of lane s: the s-th largest
  float largest;
  float sum;  // of what the weights are divided by

  /// Waits for the logits where they are flagged.
  template <class Pointer>
  ETC_DEVICE void Fetch(Pointer from, int row, int lane) {
    ArrivingWord<Pointer> words[kWords];
    auto expert = [&](int word) { return word * 32 + lane; };
    auto element = [&](int word) {
      return expert(word) < experts ? row * experts + expert(word) : 0;
    };
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      words[word].Start(from, element(word), expert(word) < experts);
    }
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      float value = BitsToFloat(words[word].Finish(from, element(word)));
      bool above = expert(word) < experts && value > NegativeInfinity();  // a number, too
      logits[word] = above ? value : NegativeInfinity();
    }
  }

  /// Logits that are none of a router's.
  ETC_DEVICE void Invent(int lane) {
#pragma unroll
    for (float& logit : logits) {
      logit = float(lane);
    }
  }

  ETC_DEVICE void Choose(int lane) {
    u32 keys[kWords];  // 0 where there is no expert, or none any more
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      keys[word] = word * 32 + lane < experts ? ToKey(logits[word]) : 0;
    }
    best_logit = NegativeInfinity();
#pragma unroll 1
    for (int s = 0; s < top; ++s) {
      u32 best = keys[0];
#pragma unroll
      for (int word = 1; word < kWords; ++word) {
        best = keys[word] > best ? keys[word] : best;
      }
      best = __reduce_max_sync(0xffffffffu, best);
      u32 first = experts;
#pragma unroll
      for (int word = kWords - 1; word >= 0; --word) {
        first = keys[word] == best ? u32(word * 32 + lane) : first;
      }
      first = __reduce_min_sync(0xffffffffu, first);
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        if (first == u32(word * 32 + lane)) {
          keys[word] = 0;
          chosen |= 1u << word;
        }
      }
      best_logit = lane == s ? FromKey(best) : best_logit;
    }
  }

  /// Makes weights known, once chosen.
  ETC_DEVICE void Weigh(int lane) {
    largest = __shfl_sync(0xffffffffu, best_logit, 0);
    sum = 0;
    if constexpr (renormalise) {
      sum = lane < top ? Exp2((best_logit - largest) * kLog2E) : 0;
    } else {
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        sum += Exp2((logits[word] - largest) * kLog2E);
      }
    }
    sum = GroupSum<32>(sum);
  }

  /// Of 32 experts, those that were chosen.
  ETC_DEVICE u32 Chosen(int word) const {
    return __ballot_sync(0xffffffffu, (chosen >> word & 1) != 0);
  }
  /// The weight of an expert with this logit.
  ETC_DEVICE float WeightOf(float logit) const {
    return __fdividef(Exp2((logit - largest) * kLog2E), sum);
  }

 private:
  // Larger keys are larger numbers, and none is 0.
  static ETC_DEVICE u32 ToKey(float x) {
    u32 bits = FloatToBits(x);
    return bits ^ (bits >> 31 != 0 ? 0xffffffffu : 0x80000000u);
  }
  static ETC_DEVICE float FromKey(u32 key) {
    return BitsToFloat(key ^ (key >> 31 != 0 ? 0x80000000u : 0xffffffffu));
  }
};

/// The first of this rank's own experts, of ranks that have `own` of them each.
template <int experts, int own, class Args>
ETC_DEVICE int FirstOwn(const Args& args) {
  if constexpr (own < experts) {
    return int(args.dims.peers.rank) * own;
  } else {
    return 0;
  }
}
/// Leaves out of a warp's words of chosen experts those of other ranks.
template <int experts, int own, int words>
ETC_DEVICE void KeepOwn(u32 (&used)[words], int first, int lane) {
  if constexpr (own < experts) {
#pragma unroll
    for (int word = 0; word < words; ++word) {
      int at = word * 32 + lane - first;
      used[word] &= __ballot_sync(0xffffffffu, at >= 0 && at < own);
    }
  }
}

}  // namespace etc
