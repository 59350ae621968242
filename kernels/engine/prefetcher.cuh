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

// Nor has the loader's side of a kernel to look ahead: where it does, it is made with the pause and
// with what it calls with a Prefetcher.
template <class Source, class Args, class Ahead>
ETC_DEVICE auto MakeSource(int, Loader& loader, const Args& args, int pause, const Ahead& ahead)
    -> decltype(Source(loader, args, pause, ahead)) {
  return Source(loader, args, pause, ahead);
}
template <class Source, class Args, class Ahead>
ETC_DEVICE Source MakeSource(long, Loader& loader, const Args& args, int, const Ahead&) {
  return Source(loader, args);
}

}  // namespace etc
