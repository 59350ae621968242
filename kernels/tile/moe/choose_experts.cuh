// The experts of each token, from the router's logits, where tokens have lists of their own.
//
// Task (b): one token. Its logits are the sums of `partials` [P, B, E] over P, in this order. It
// goes to the `top` experts with the largest, of equal ones to the first: chosen [B, top], the one
// with the largest first, and weight [B, top], their softmax over these, or with `renormalise` =
// false over all.
//
//   threads            one for each expert, or for several
//   rank of an expert  how many logits are larger, or equal and before it, as in Route
//
// Config: top, renormalise.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
class ChooseExperts {
  static constexpr int kTop = int(Config::top);
  static constexpr int kParts = int(Args::partials_0);
  static constexpr int kExperts = int(Args::partials_2);
  static constexpr int kRounds = DivideUp(kExperts, Consumer::kThreads);
  static_assert(kTop <= kExperts, "a token has no more experts than there are");
  static_assert(kTop <= Consumer::kThreads, "a thread stores one of a token's experts");

  struct Scratch {
    float logits[kExperts];
    float largest[kTop];  // in descending order
    int experts[kTop];
  };

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 2 * int(sizeof(Scratch));  // by turns

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE ChooseExperts(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    Scratch& scratch = reinterpret_cast<Scratch*>(consumer.scratch)[turn_];
    turn_ ^= 1;
    AddPartials(consumer, args, scratch, b);
    consumer.Sync();
    Rank(consumer, scratch);
    consumer.Sync();
    Store(consumer, args, scratch, b);
  }

 private:
  int turn_ = 0;

  static ETC_DEVICE void AddPartials(const Consumer& consumer, const Args& args, Scratch& scratch,
                                     int b) {
    const u32* from = reinterpret_cast<const u32*>(args.partials) + i64(b) * kExperts;
    i64 stride = args.partials_1 * kExperts;
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      int e = round * Consumer::kThreads + consumer.thread;
      if (e < kExperts) {
        float parts[kParts];
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
          parts[p] = BitsToFloat(LoadRelaxed(from + p * stride + e));
        }
        float sum = parts[0];
#pragma unroll
        for (int p = 1; p < kParts; ++p) {
          sum += parts[p];
        }
        scratch.logits[e] =
            sum > NegativeInfinity() ? sum : NegativeInfinity();  // of no number, too
      }
    }
  }

  static ETC_DEVICE void Rank(const Consumer& consumer, Scratch& scratch) {
#pragma unroll 1
    for (int e = consumer.thread; e < kExperts; e += Consumer::kThreads) {
      float mine = scratch.logits[e];
      int rank = 0;
#pragma unroll 8
      for (int other = 0; other < kExperts; ++other) {
        float logit = scratch.logits[other];
        rank += logit > mine || (logit == mine && other < e) ? 1 : 0;
      }
      if (rank < kTop) {
        scratch.largest[rank] = mine;
        scratch.experts[rank] = e;
      }
    }
  }

  static ETC_DEVICE void Store(const Consumer& consumer, const Args& args, const Scratch& scratch,
                               int b) {
    if (consumer.thread < kTop) {
      float largest = scratch.largest[0];
      float sum = 0;
      if constexpr (Config::renormalise) {
#pragma unroll
        for (int s = 0; s < kTop; ++s) {
          sum += Exp2((scratch.largest[s] - largest) * kLog2E);
        }
      } else {
#pragma unroll 1
        for (int e = 0; e < kExperts; ++e) {
          sum += Exp2((scratch.logits[e] - largest) * kLog2E);
        }
      }
      int s = consumer.thread;
      args.chosen[i64(b) * kTop + s] = scratch.experts[s];
      args.weight[i64(b) * kTop + s] =
          __fdividef(Exp2((scratch.largest[s] - largest) * kLog2E), sum);
    }
  }
};

}  // namespace etc
