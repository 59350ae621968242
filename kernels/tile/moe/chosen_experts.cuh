// Which experts a step of one row uses, chosen by each warp that has to know: then nobody waits for
// the task of another SM between the router's logits and the experts' weights.
#pragma once

#include "engine/roles.cuh"
#include "tile/moe/choice_of_row.cuh"
#include "tile/moe/used_experts.cuh"

namespace etc {

/// A warp's choice for one row. All members are for all lanes.
///
/// Config: top, renormalise, own. Args: logits [1, E], flagged or not, and used [U].
template <class Config, class Args>
class WarpChoice {
  static constexpr int kExperts = int(Args::logits_1);
  static constexpr int kOwn = int(Config::own);
  using Row = ChoiceOfRow<kExperts, int(Config::top), Config::renormalise>;
  static constexpr int kWords = Row::kWords;
  static_assert(int(Config::max_batch) == 1, "one row");
  static_assert(int(Args::used_0) <= 32, "each place has a lane");

 public:
  ETC_DEVICE WarpChoice(const Args& args, int lane) {
    row_.Fetch(args.logits, 0, lane);
    row_.Choose(lane);
    first_ = FirstOwn<kExperts, kOwn>(args);
    u32 used[kWords];
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      used[word] = row_.Chosen(word);
    }
    KeepOwn<kExperts, kOwn>(used, first_, lane);
    // Counted over all words, the place that is the lane is that of the bit of this number.
    int bit = 0;
    u32 bits = 0;
    number_ = expert_ = 0;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      bool here = lane >= number_;
      bits = here ? used[word] : bits;
      bit = here ? lane - number_ : bit;
      expert_ = here ? word * 32 : expert_;
      number_ += __popc(used[word]);
    }
#pragma unroll 1
    for (; bit > 0; --bit) {
      bits &= bits - 1;
    }
    expert_ += __popc((bits & (0 - bits)) - 1);  // what lies below the lowest bit
    expert_ = lane < number_ ? expert_ : 0;
  }

  ETC_DEVICE int Number() const { return number_; }
  /// The expert at the place that is the lane, counted from the rank's first one; 0 where there is
  /// none.
  ETC_DEVICE int Mine(int lane) const { return lane < number_ ? expert_ - first_ : 0; }
  /// The expert at a place below Number(), counted from the rank's first one.
  ETC_DEVICE int At(int place) const { return __shfl_sync(0xffffffffu, expert_, place) - first_; }
  /// The weight of the expert at the place that is the lane; 0 where there is none.
  ETC_DEVICE float MyWeight(int lane) {
    row_.Weigh(lane);
    float logit = 0;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      float there = __shfl_sync(0xffffffffu, row_.logits[word], expert_ % 32);
      logit = expert_ / 32 == word ? there : logit;
    }
    return lane < number_ ? row_.WeightOf(logit) : 0;
  }

 private:
  Row row_;
  int first_, number_;
  int expert_;  // of the place that is the lane
};

/// The loader's side, as UsedExperts: made once in a share.
template <class Config, class Args>
class ChosenExperts {
 public:
  // The slot comes first, as there is time until the logits are known.
  ETC_DEVICE ChosenExperts(Loader& loader, const Args& args)
      : ChosenExperts(loader, args, loader.Acquire()) {}
  /// The experts of one row are known so soon that nothing is prefetched.
  template <class Ahead>
  ETC_DEVICE ChosenExperts(Loader& loader, const Args& args, int, const Ahead&)
      : ChosenExperts(loader, args) {}

  ETC_DEVICE int Number() const { return choice_.Number(); }
  ETC_DEVICE int At(int place) const { return choice_.At(place); }

 private:
  ETC_DEVICE ChosenExperts(Loader& loader, const Args& args, u32 slot)
      : choice_(args, loader.lane) {
    HandNumberOfExperts(loader, slot, choice_.Number());
  }

  WarpChoice<Config, Args> choice_;
};

}  // namespace etc
