// Adds what a GEMM left in partials, parts[0, b, i] + parts[1, b, i] + ..., and sends the sum.
//
//   SendParts          to all ranks: slots[rank, b, i], f32 [ranks, b, N]
//   SendPartsToOwners  to the rank that owns the row, b % ranks: slots[rank, b / ranks, i]
//
// Config: columns. `parts` is f32 [P, b, N], in which order they are added; N and `columns` are
// multiples of 4. Task (b, c): so many columns of a row.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/peers.cuh"
#include "engine/roles.cuh"

namespace etc {

/// `Slots` says where the sums of a row go.
template <class Config, class Args, class Slots>
struct SendSums {
  static constexpr int kDepth = int(Args::slots_2);
  static constexpr int kParts = int(Args::parts_0);
  static constexpr int kColumns = int(Config::columns);
  static constexpr int kRun = 4;  // of a thread
  static_assert(kDepth % kRun == 0 && kColumns % kRun == 0, "rows and columns are multiples of 4");
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE SendSums(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int c) {
    Slots slots(args, b);
    int end = c * kColumns + kColumns < kDepth ? c * kColumns + kColumns : kDepth;
    i64 rows = args.parts_1;
    for (int i = c * kColumns + consumer.thread * kRun; i < end; i += Consumer::kThreads * kRun) {
      i64 at = i64(b) * kDepth + i;
      Vec4 parts[kParts];
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        parts[p] = LoadGlobal(args.parts + p * rows * kDepth + at);
      }
      float sums[kRun] = {};
#pragma unroll
      for (const Vec4& part : parts) {
        sums[0] += BitsToFloat(part.x), sums[1] += BitsToFloat(part.y);
        sums[2] += BitsToFloat(part.z), sums[3] += BitsToFloat(part.w);
      }
      Vec4 words{FloatToBits(sums[0]), FloatToBits(sums[1]), FloatToBits(sums[2]),
                 FloatToBits(sums[3])};
      slots.Store(args, i, words);
    }
  }
};

template <class Args>
struct SlotsOfAll {
  static constexpr int kRanks = int(Args::slots_0);
  Peers::Distances<kRanks> distances;
  float* row;

  ETC_DEVICE SlotsOfAll(const Args& args, int b)
      : distances(args.dims.peers.template DistancesBehind<kRanks>()),
        row(args.slots.own + (args.dims.peers.rank * args.slots_1 + b) * Args::slots_2) {}
  ETC_DEVICE void Store(const Args& args, int i, Vec4 words) const {
#pragma unroll
    for (i64 distance : distances.to) {
      StoreGlobal(args.dims.peers.Moved(row + i, distance), words);
    }
  }
};

template <class Args>
struct SlotOfOwner {
  float* row;

  ETC_DEVICE SlotOfOwner(const Args& args, int b)
      : row(args.dims.peers.template RowAtOwner<int(Args::slots_0)>(args.slots.own, args.slots_1,
                                                                    Args::slots_2, b)) {}
  ETC_DEVICE void Store(const Args&, int i, Vec4 words) const { StoreGlobal(row + i, words); }
};

template <class Config, class Args>
struct SendParts : SendSums<Config, Args, SlotsOfAll<Args>> {
  using SendSums<Config, Args, SlotsOfAll<Args>>::SendSums;
};
template <class Config, class Args>
struct SendPartsToOwners : SendSums<Config, Args, SlotOfOwner<Args>> {
  using SendSums<Config, Args, SlotOfOwner<Args>>::SendSums;
};

}  // namespace etc
