// Which experts a step uses: what the router leaves, as loader, consumers and epilogue warp get it.
//
// Args: used [U], the experts in ascending order; n_used [1], how many of them there are. The
// loader cannot know what to copy before it has both, so it reads them behind their wait, once in a
// share, and hands the number to the consumers through the ring: none of them begins a task of the
// share before the loader has read the experts, so what writes them next may follow the consumers.
#pragma once

#include "arch/sm90/memory.cuh"
#include "arch/sm90/wgmma.cuh"
#include "engine/prefetcher.cuh"
#include "engine/roles.cuh"
#include "tile/moe/words.cuh"

namespace etc {

/// Hands the number of experts to the consumers, in a slot that all lanes have acquired.
ETC_DEVICE void HandNumberOfExperts(Loader& loader, u32 slot, int number) {
  if (loader.lane == 0) {
    StoreShared(slot, u32(number));
    WgmmaSharedFence();  // the slot's next data come by the async proxy
  }
  loader.Sync();
  loader.Expect(0);
  loader.Advance();
}

/// The loader's side, for all lanes. Made once in a share, after its waits.
template <class Args>
class UsedExperts {
  static constexpr int kPlaces = int(Args::used_0);
  static constexpr int kWords = DivideUp(kPlaces, 32);
  using Word = ArrivingWord<decltype(Args::used)>;

 public:
  ETC_DEVICE UsedExperts(Loader& loader, const Args& args)
      : UsedExperts(loader, args, 0, [](auto&) {}) {}
  /// `ahead` is called with a Prefetcher, which ends once the number of experts is known.
  template <class Ahead>
  ETC_DEVICE UsedExperts(Loader& loader, const Args& args, int pause, const Ahead& ahead) {
    u32 slot = loader.Acquire();  // first, as there is time until the experts are known
    Word words[kWords];
    ArrivingWord<decltype(Args::n_used)> number;
    number.Start(args.n_used, 0, true);
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      words[i].Start(args.used, i * 32 + loader.lane, i * 32 + loader.lane < kPlaces);
    }
    const auto look = [&] { return number.Look(args.n_used, 0); };
    Prefetcher<decltype(look)> prefetcher(pause, look);
    ahead(prefetcher);
    number_ = int(number.Finish(args.n_used, 0));
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      experts_[i] = int(words[i].Finish(args.used, i * 32 + loader.lane));
    }
    HandNumberOfExperts(loader, slot, number_);
  }

  ETC_DEVICE int Number() const { return number_; }
  /// The expert at a place below Number(), the same for all lanes.
  ETC_DEVICE int At(int place) const {
    int expert = experts_[0];
#pragma unroll
    for (int i = 1; i < kWords; ++i) {
      expert = place / 32 == i ? experts_[i] : expert;
    }
    return __shfl_sync(0xffffffffu, expert, place % 32);
  }

 private:
  int number_;
  int experts_[kWords];
};

/// The loader of tasks (u, m): Gemm's task m with the expert at place u, where there is one.
/// View(args, expert, place) is what that looks like to Gemm, and Experts says which experts these
/// are.
template <class Gemm, class View, class Args, class Experts = UsedExperts<Args>>
class PlaceSource {
 public:
  ETC_DEVICE PlaceSource(Loader& loader, const Args& args) : experts_(loader, args) {}
  template <class Ahead>
  ETC_DEVICE PlaceSource(Loader& loader, const Args& args, int pause, const Ahead& ahead)
      : experts_(loader, args, pause, ahead) {}
  ETC_DEVICE void Load(Loader& loader, const Args& args, int u, int m) {
    if (u < experts_.Number()) {
      Gemm::Load(loader, View(args, experts_.At(u), u), m);
    }
  }

 private:
  Experts experts_;
};

/// The consumers' side: how many experts are used, once in a share, by each warp.
ETC_DEVICE int TakeNumberOfExperts(Consumer& consumer) {
  u32 number = LoadSharedWord(consumer.WaitAddress());
  consumer.Release(number);
  return int(number);
}

}  // namespace etc
