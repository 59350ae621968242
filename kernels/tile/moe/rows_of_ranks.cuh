// A mixture of experts whose rows and experts ranks share: rows go to the ranks that have experts
// of theirs, and what these found comes back.
//
//   SendRowsToExperts  task (to, b): row b of x, at rank `to`, if that has an expert of the row
//   SendFound          task (to, b, c): `columns` sums of what the own experts found for row b of
//                      rank `to`, there, if they have a choice of the row
//   SendRowsToOthers   task (i, to): of the i-th `rows` rows of x those that rank `to` has experts
//                      of, there, if it is another; a rank has the rows of the d-th behind at d
//   SendFoundBack      task (b, c): what SendFound sends, of the rows of the d-th rank behind alone
//   AddFound           task (b, c): the sums of the ranks that have experts of row b, by rank,
//                      and the residual stream
//
// But for SendRowsToOthers, the rows of rank r stand behind those of the ranks before it, at every
// rank. A choice of another rank's expert has a slot behind z (ListExperts). A thread has 16 bytes.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/peers.cuh"
#include "engine/roles.cuh"

namespace etc {

/// Which ranks have experts of a row of choices: a bit for each.
template <int top, int own>
ETC_DEVICE u64 RanksOfRow(const i32* chosen, i64 b) {
  u64 ranks = 0;
#pragma unroll
  for (int s = 0; s < top; ++s) {
    ranks |= u64(1) << LoadRelaxed(reinterpret_cast<const u32*>(chosen) + b * top + s) / own;
  }
  return ranks;
}

/// Config: own. Args: x bf16 [B, K], chosen i32 [B, top], rows symmetric bf16 [B * ranks, K]; K is
/// a multiple of 8.
template <class Config, class Args>
struct SendRowsToExperts {
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kTop = int(Args::chosen_1);
  static constexpr int kRun = 8;
  static_assert(kDepth % kRun == 0, "rows begin at multiples of 16 bytes");
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE SendRowsToExperts(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int to, int b) {
    if ((RanksOfRow<kTop, int(Config::own)>(args.chosen, b) >> to & 1) == 0) {
      return;
    }
    const auto& peers = args.dims.peers;
    const bf16* from = args.x + i64(b) * kDepth;
    bf16* row = peers.At(args.rows.own, to) + (peers.rank * args.x_0 + b) * kDepth;
    for (int k = consumer.thread * kRun; k < kDepth; k += Consumer::kThreads * kRun) {
      StoreGlobal(row + k, LoadGlobal(from + k));
    }
  }
};

/// Config: own, rows. Args: x bf16 [B, K], chosen i32 [B, top], sent symmetric bf16 [ranks, B, K];
/// K is a multiple of 8. The epilogue warp does all of it, as in SendRows.
template <class Config, class Args>
struct SendRowsToOthers {
  static constexpr int kRun = 8;       // elements of a load
  static constexpr int kInFlight = 8;  // loads of a lane
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kTop = int(Args::chosen_1);
  static_assert(kDepth % kRun == 0, "rows begin at multiples of 16 bytes");
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE SendRowsToOthers(Consumer& consumer, const Args&) { consumer.Begin(); }
  ETC_DEVICE void Run(Consumer&, const Args&, int, int) {}

  class Reduction {
   public:
    using Exists = void;
    static constexpr bool kExists = true;
    static constexpr int kPartialsBytes = 0;

    /// The consumers have waited for the choices, and until all peers have begun the launch.
    ETC_DEVICE Reduction(EpilogueWarp& epilogue_warp, const Args&) { epilogue_warp.WaitBegin(); }

    ETC_DEVICE void Run(EpilogueWarp& epilogue_warp, const Args& args, int i, int to) {
      const auto& peers = args.dims.peers;
      if (to == peers.rank) {
        return;
      }
      const i64 behind = (peers.rank + peers.ranks - to) % peers.ranks;
      bf16* rows = peers.At(args.sent.own, to) + behind * args.x_0 * kDepth;
      const i64 begin = i64(i) * Config::rows;
      const i64 end = args.x_0 - begin < Config::rows ? args.x_0 : begin + Config::rows;
#pragma unroll 1
      for (i64 b = begin; b < end; ++b) {
        if ((RanksOfRow<kTop, int(Config::own)>(args.chosen, b) >> to & 1) != 0) {
          Copy(epilogue_warp, rows + b * kDepth, args.x + b * kDepth);
        }
      }
    }

   private:
    static ETC_DEVICE void Copy(const EpilogueWarp& epilogue_warp, bf16* to, const bf16* from) {
      constexpr int kRuns = kDepth / kRun;
#pragma unroll 1
      for (int begin = epilogue_warp.lane; begin < kRuns; begin += kInFlight * 32) {
        Vec4 words[kInFlight];
#pragma unroll
        for (int n = 0; n < kInFlight; ++n) {
          words[n] = LoadGlobalIf(from + (begin + n * 32) * kRun, begin + n * 32 < kRuns);
        }
#pragma unroll
        for (int n = 0; n < kInFlight; ++n) {
          if (begin + n * 32 < kRuns) {
            StoreGlobal(to + (begin + n * 32) * kRun, words[n]);
          }
        }
      }
    }
  };
};

/// Sends what was found for a row to the rank whose it is.
template <class Config, class Args>
struct FoundSender {
  static constexpr int kOutputs = int(Args::z_1);
  static constexpr int kTop = int(Args::slot_1);
  static constexpr int kColumns = int(Config::columns);
  static constexpr u32 kSlots = u32(Args::z_0);
  static_assert(kOutputs % 4 == 0 && kColumns % 4 == 0, "a thread has 4 neighbouring outputs");
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

 protected:
  /// `row` is where the choices of the row stand in slot and weight.
  static ETC_DEVICE void Send(const Consumer& consumer, const Args& args, i64 to, i64 row, int b,
                              int c) {
    u32 slots[kTop];
    float weights[kTop];
    bool any = false;
#pragma unroll
    for (int s = 0; s < kTop; ++s) {
      slots[s] = LoadRelaxed(reinterpret_cast<const u32*>(args.slot) + row * kTop + s);
      weights[s] =
          BitsToFloat(LoadRelaxed(reinterpret_cast<const u32*>(args.weight) + row * kTop + s));
      any |= slots[s] < kSlots;
    }
    if (!any) {
      return;
    }
    const auto& peers = args.dims.peers;
    float* out = peers.At(args.found.own, to) + (peers.rank * args.found_1 + b) * kOutputs;
    int end = min((c + 1) * kColumns, kOutputs);
    for (int n = c * kColumns + consumer.thread * 4; n < end; n += Consumer::kThreads * 4) {
      Vec4 z[kTop];
#pragma unroll
      for (int s = 0; s < kTop; ++s) {
        z[s] = LoadGlobalIf(args.z + i64(slots[s]) * kOutputs + n, slots[s] < kSlots);
      }
      float sums[4] = {};
#pragma unroll
      for (int s = 0; s < kTop; ++s) {
        float weight = slots[s] < kSlots ? weights[s] : 0.0f;
        sums[0] = fmaf(weight, BitsToFloat(z[s].x), sums[0]);
        sums[1] = fmaf(weight, BitsToFloat(z[s].y), sums[1]);
        sums[2] = fmaf(weight, BitsToFloat(z[s].z), sums[2]);
        sums[3] = fmaf(weight, BitsToFloat(z[s].w), sums[3]);
      }
      StoreGlobal(out + n, Vec4{FloatToBits(sums[0]), FloatToBits(sums[1]), FloatToBits(sums[2]),
                                FloatToBits(sums[3])});
    }
  }
};

/// Config: columns. Args: z f32 [slots, N], slot i32 [B * ranks, top], weight f32 [B * ranks, top],
/// found symmetric f32 [ranks, B, N]; N and `columns` are multiples of 4.
template <class Config, class Args>
struct SendFound : FoundSender<Config, Args> {
  static ETC_DEVICE void Load(Loader&, const Args&, int, int, int) {}

  ETC_DEVICE SendFound(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int to, int b, int c) {
    this->Send(consumer, args, to, i64(to) * args.found_1 + b, b, c);
  }
};

/// The same with slot i32 [B, top], weight f32 [B, top] and the scalar d.
template <class Config, class Args>
struct SendFoundBack : FoundSender<Config, Args> {
  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE SendFoundBack(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int c) {
    const auto& peers = args.dims.peers;
    this->Send(consumer, args, (peers.rank + args.scalars.d) % peers.ranks, b, b, c);
  }
};

/// Config: own, columns. Args: found f32 [ranks, B, N], chosen i32 [B, top], residual and y bf16
/// [B, N]; N and `columns` are multiples of 4.
template <class Config, class Args>
struct AddFound {
  static constexpr int kRanks = int(Args::found_0);
  static constexpr int kOutputs = int(Args::found_2);
  static constexpr int kTop = int(Args::chosen_1);
  static constexpr int kColumns = int(Config::columns);
  static_assert(kOutputs % 4 == 0 && kColumns % 4 == 0, "a thread has 4 neighbouring outputs");
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  /// Four bf16.
  struct alignas(8) Words {
    u32 low, high;
  };

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE AddFound(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int c) {
    u64 ranks = RanksOfRow<kTop, int(Config::own)>(args.chosen, b);
    i64 rows = args.found_1;
    int end = min((c + 1) * kColumns, kOutputs);
    for (int n = c * kColumns + consumer.thread * 4; n < end; n += Consumer::kThreads * 4) {
      i64 at = i64(b) * kOutputs + n;
      Vec4 found[kRanks];
#pragma unroll
      for (int r = 0; r < kRanks; ++r) {
        found[r] = LoadGlobalIf(args.found + r * rows * kOutputs + at, (ranks >> r & 1) != 0);
      }
      float sums[4] = {};
#pragma unroll
      for (int r = 0; r < kRanks; ++r) {
        bool adds = (ranks >> r & 1) != 0;
        sums[0] += adds ? BitsToFloat(found[r].x) : 0.0f;
        sums[1] += adds ? BitsToFloat(found[r].y) : 0.0f;
        sums[2] += adds ? BitsToFloat(found[r].z) : 0.0f;
        sums[3] += adds ? BitsToFloat(found[r].w) : 0.0f;
      }
      Words old = *reinterpret_cast<const Words*>(args.residual + at);
      *reinterpret_cast<Words*>(args.y + at) =
          Words{PackBf16(LowBf16(old.low) + sums[0], HighBf16(old.low) + sums[1]),
                PackBf16(LowBf16(old.high) + sums[2], HighBf16(old.high) + sums[3])};
    }
  }
};

}  // namespace etc
