// What a loader asks L2 for while it waits for the words that say what it copies: what its SM's
// tasks copy in the next iteration, as far as that is known. Memory is idle then, and other data
// stream through L2 before the copies come.
#pragma once

#include "engine/loader.cuh"

namespace etc {

/// `look()` says, for all lanes alike, whether what is waited for has come.
template <class Look>
class Prefetcher {
 public:
  /// `pause` is in clock cycles, behind a prefetch of kPieceBytes.
  ETC_DEVICE Prefetcher(int pause, const Look& look) : look_(look), pause_(pause) {}

  /// Has L2 fetch a piece, in its turn; nothing any more once what is waited for has come. For all
  /// lanes, with the same arguments.
  ETC_DEVICE void Fetch(const void* global, int bytes) {
    if (bytes > left_) {
      return;
    }
    while (!came_) {
      came_ = look_();
      if (!came_ && __all_sync(0xffffffffu, Clock() - asked_ >= wait_)) {
        asked_ = Clock();
        wait_ = u32(pause_) * u32(bytes) / kPieceBytes;
        left_ -= bytes;
        BulkPrefetchKeptElected(global, bytes);
        return;
      }
    }
  }

 private:
  static constexpr int kPieceBytes = 16384;
  static constexpr int kMostBytes = 18 * kPieceBytes;  // three quarters of L2 for all SMs

  const Look& look_;
  int pause_, left_ = kMostBytes;
  u32 asked_ = 0, wait_ = 0;
  bool came_ = false;
};

// A kernel's PrefetchLoads is optional; the argument of type int prefers the overload that calls
// it.
template <class Kernel, class Look, class Args, class... Coordinates>
ETC_DEVICE auto PrefetchLoads(int, Prefetcher<Look>& prefetcher, const Args& args,
                              Coordinates... task)
    -> decltype(Kernel::PrefetchLoads(prefetcher, args, int(task)...)) {
  Kernel::PrefetchLoads(prefetcher, args, int(task)...);
}
template <class Kernel, class Look, class Args, class... Coordinates>
ETC_DEVICE void PrefetchLoads(long, Prefetcher<Look>&, const Args&, Coordinates...) {}

/// Whether the loader's side of a kernel looks ahead while it waits: it is then made with the pause
/// and with what it calls with a Prefetcher.
template <class Source, class = void>
struct LooksAhead {
  static constexpr bool value = false;
};
template <class Source>
struct LooksAhead<Source, typename Source::TakesAhead> {
  static constexpr bool value = true;
};
template <class Source, class Args, class Ahead>
ETC_DEVICE Source MakeSource(Loader& loader, const Args& args, [[maybe_unused]] int pause,
                             [[maybe_unused]] const Ahead& ahead) {
  if constexpr (LooksAhead<Source>::value) {
    return Source(loader, args, pause, ahead);
  } else {
    return Source(loader, args);
  }
}

}  // namespace etc
