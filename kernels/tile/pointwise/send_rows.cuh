// Sends rows to peers: slots[q, r, k] = x[r, k], at the rank that has the own one as the q-th
// behind it.
//
// Config: rows, block. `x` is bf16 [m, K], `slots` [peers, m, K]; K is a multiple of 8. Task (q, i,
// p): the p-th `rows` rows of a block of rows.
//
// The epilogue warp does all of it: it walks the tasks beside the consumers, which go on to what
// follows at once. One warp of each SM is enough for what a link between two GPUs takes, and no SM
// has less time than others for its tasks.
#pragma once

#include "arch/common/types.cuh"
#include "engine/peers.cuh"
#include "engine/roles.cuh"
#include "tile/pointwise/copy_rows.cuh"

namespace etc {

template <class Config, class Args>
struct SendRows {
  static constexpr int kPeers = int(Args::slots_0);
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int, int) {}

  ETC_DEVICE SendRows(Consumer& consumer, const Args&) { consumer.Begin(); }
  ETC_DEVICE void Run(Consumer&, const Args&, int, int, int) {}

  class Reduction {
   public:
    using Exists = void;
    static constexpr bool kExists = true;
    static constexpr int kPartialsBytes = 0;

    /// The consumers have waited until all peers have begun the launch.
    ETC_DEVICE Reduction(EpilogueWarp& epilogue_warp, const Args&) { epilogue_warp.WaitBegin(); }

    ETC_DEVICE void Run(EpilogueWarp& epilogue_warp, const Args& args, int q, int i, int p) {
      i64 first = i64(i) * Config::block + i64(p) * Config::rows;
      i64 peer = (args.dims.peers.rank + kPeers - q) % (kPeers + 1);
      const bf16* from = args.x + first * kDepth;
      bf16* to = args.dims.peers.At(args.slots.own, peer) + (q * args.x_0 + first) * kDepth;
      // Fewer, or none, behind the last row.
      int rows = int(args.x_0 - first < Config::rows ? args.x_0 - first : Config::rows);
      CopyRows<kDepth, kDepth>(epilogue_warp.lane, from, to, rows);
    }
  };
};

}  // namespace etc
