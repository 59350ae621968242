// The experts of each token as ChooseExperts finds them, by a warp for each token: for so many
// tokens that no task needs all threads to be done early. Each output has the same bits as there.
//
// Task (t): the `tokens` tokens from t * tokens on, or those that are left. A warp has as many at
// once as registers allow, whose steps are independent, and waits for no other warp.
//
//   lane               the experts lane, lane + 32, ...
//   choice of a round  the largest key of all lanes, of equal ones that of the first expert
//   sums of weights    in the order of the choices, or with `renormalise` = false of the experts
//
// Config: top, renormalise, tokens. Args: partials f32 [P, B, E], chosen i32 [B, top], weight f32
// [B, top].
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
class ChooseByWarps {
  static constexpr int kTop = int(Config::top);
  static constexpr int kTokens = int(Config::tokens);
  static constexpr int kParts = int(Args::partials_0);
  static constexpr int kExperts = int(Args::partials_2);
  static constexpr int kWords = DivideUp(kExperts, 32);                  // of a lane
  static constexpr int kAtOnce = kWords <= 4 ? 4 : kWords <= 8 ? 2 : 1;  // tokens of a warp
  static constexpr u32 kAll = 0xffffffffu;
  static_assert(kTop <= kExperts, "a token has no more experts than there are");
  static_assert(kTop <= 32, "a lane has one of a token's experts");

  struct Token {
    u32 keys[kWords];  // 0 where there is no expert, or none any more
    float all;         // the sum of all experts' weights, if that is what divides them
    float largest;     // of lane s: the s-th largest logit, and whose it is
    u32 expert;
  };

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE ChooseByWarps(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int t) {
    int end = min(int(args.partials_1), (t + 1) * kTokens);
#pragma unroll 1
    for (int b = t * kTokens + consumer.warp; b < end; b += kAtOnce * Consumer::kWarps) {
      Token tokens[kAtOnce];
      Fetch(consumer, args, tokens, b, end);
#pragma unroll 1
      for (int s = 0; s < kTop; ++s) {
#pragma unroll
        for (Token& token : tokens) {
          Choose(consumer, token, s);
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        Store(consumer, args, tokens[i], b + i * Consumer::kWarps, end);
      }
    }
  }

 private:
  // Larger keys are larger numbers, and none is 0. Zeros are equal.
  static ETC_DEVICE u32 ToKey(float x) {
    u32 bits = FloatToBits(x + 0.0f);
    return bits ^ (bits >> 31 != 0 ? 0xffffffffu : 0x80000000u);
  }
  static ETC_DEVICE float FromKey(u32 key) {
    return BitsToFloat(key ^ (key >> 31 != 0 ? 0x80000000u : 0xffffffffu));
  }

  /// All of them on their way at once. A token behind the last one is that one.
  static ETC_DEVICE void Fetch(const Consumer& consumer, const Args& args, Token (&tokens)[kAtOnce],
                               int b, int end) {
    float parts[kAtOnce][kWords][kParts];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      int row = min(b + i * Consumer::kWarps, end - 1);
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
        int e = min(word * 32 + consumer.lane, kExperts - 1);
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
          i64 at = (p * args.partials_1 + row) * kExperts + e;
          parts[i][word][p] =
              BitsToFloat(LoadRelaxed(reinterpret_cast<const u32*>(args.partials) + at));
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      SetKeys(consumer, tokens[i], parts[i]);
    }
  }

  static ETC_DEVICE void SetKeys(const Consumer& consumer, Token& token,
                                 const float (&parts)[kWords][kParts]) {
    float logits[kWords];
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      float sum = parts[word][0];
#pragma unroll
      for (int p = 1; p < kParts; ++p) {
        sum += parts[word][p];
      }
      logits[word] = sum > NegativeInfinity() ? sum : NegativeInfinity();  // of no number, too
      token.keys[word] = word * 32 + consumer.lane < kExperts ? ToKey(logits[word]) : 0;
    }
    token.largest = 0;
    token.expert = 0;
    if constexpr (!Config::renormalise) {
      token.all = SumOfWeights(logits, FromKey(LargestKey(token)));
    }
  }

  static ETC_DEVICE u32 LargestKey(const Token& token) {
    u32 best = token.keys[0];
#pragma unroll
    for (int word = 1; word < kWords; ++word) {
      best = token.keys[word] > best ? token.keys[word] : best;
    }
    return __reduce_max_sync(kAll, best);
  }

  static ETC_DEVICE float SumOfWeights(const float (&logits)[kWords], float largest) {
    float sum = 0;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      float mine = Weight(logits[word], largest);
#pragma unroll 8
      for (int lane = 0; lane < 32 && word * 32 + lane < kExperts; ++lane) {
        sum += __shfl_sync(kAll, mine, lane);
      }
    }
    return sum;
  }

  static ETC_DEVICE float Weight(float logit, float largest) {
    return Exp2((logit - largest) * kLog2E);
  }

  static ETC_DEVICE void Choose(const Consumer& consumer, Token& token, int s) {
    u32 best = LargestKey(token);
    u32 first = kExperts;
#pragma unroll
    for (int word = kWords - 1; word >= 0; --word) {
      first = token.keys[word] == best ? u32(word * 32 + consumer.lane) : first;
    }
    first = __reduce_min_sync(kAll, first);
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      token.keys[word] = first == u32(word * 32 + consumer.lane) ? 0 : token.keys[word];
    }
    if (consumer.lane == s) {
      token.largest = FromKey(best);
      token.expert = first;
    }
  }

  static ETC_DEVICE void Store(const Consumer& consumer, const Args& args, const Token& token,
                               int b, int end) {
    float mine = Weight(token.largest, __shfl_sync(kAll, token.largest, 0));
    float sum = 0;
    if constexpr (Config::renormalise) {
#pragma unroll
      for (int s = 0; s < kTop; ++s) {
        sum += __shfl_sync(kAll, mine, s);
      }
    } else {
      sum = token.all;
    }
    if (b < end && consumer.lane < kTop) {
      args.chosen[i64(b) * kTop + consumer.lane] = int(token.expert);
      args.weight[i64(b) * kTop + consumer.lane] = __fdividef(mine, sum);
    }
  }
};

}  // namespace etc
