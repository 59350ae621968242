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
#include "arch/sm90/memory.cuh"
#include "engine/peers.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
struct SendRows {
  static constexpr int kRun = 8;       // elements of a load
  static constexpr int kInFlight = 8;  // loads of a lane
  static constexpr int kPeers = int(Args::slots_0);
  static constexpr int kDepth = int(Args::x_1);
  static_assert(kDepth % kRun == 0, "rows begin at multiples of 16 bytes");
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
      i64 rows = args.x_0 - first < Config::rows ? args.x_0 - first : Config::rows;
      i64 peer = (args.dims.peers.rank + kPeers - q) % (kPeers + 1);
      const bf16* from = args.x + first * kDepth;
      bf16* to = args.dims.peers.At(args.slots.own, peer) + (q * args.x_0 + first) * kDepth;
      i64 runs = rows * (kDepth / kRun);  // none behind the last row
#pragma unroll 1
      for (i64 begin = epilogue_warp.lane; begin < runs; begin += kInFlight * 32) {
        Vec4 words[kInFlight];
#pragma unroll
        for (int n = 0; n < kInFlight; ++n) {
          words[n] = LoadGlobalIf(from + (begin + n * 32) * kRun, begin + n * 32 < runs);
        }
#pragma unroll
        for (int n = 0; n < kInFlight; ++n) {
          if (begin + n * 32 < runs) {
            StoreGlobal(to + (begin + n * 32) * kRun, words[n]);
          }
        }
      }
    }
  };
};

}  // namespace etc
