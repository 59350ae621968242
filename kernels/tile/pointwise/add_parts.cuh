// Adds what the ranks sent: y[b, i] = residual[b, i] + (slots[0, b, i] + slots[1, b, i] + ...).
//
//   AddParts         of all columns, on each rank
//   AddPartsOfOwner  of the n columns that the rank owns, r n and so on for rank r, to all ranks
//
// Config: columns. `residual` and y are bf16 [b, N], `slots` is f32 [ranks, b, n], in which order
// they are added, so that all ranks have the same bits; n and `columns` are multiples of 4. Task
// (b, c): so many of the n columns of a row.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/roles.cuh"

namespace etc {

/// `Columns` says which of y are meant, and where they go.
template <class Config, class Args, class Columns>
struct AddPartsOf {
  static constexpr int kDepth = int(Args::slots_2);
  static constexpr int kRanks = int(Args::slots_0);
  static constexpr int kColumns = int(Config::columns);
  static constexpr int kRun = 4;  // of a thread
  static_assert(kDepth % kRun == 0 && kColumns % kRun == 0, "rows and columns are multiples of 4");
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE AddPartsOf(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int c) {
    int end = c * kColumns + kColumns < kDepth ? c * kColumns + kColumns : kDepth;
    for (int i = c * kColumns + consumer.thread * kRun; i < end; i += Consumer::kThreads * kRun) {
      i64 at = b * Args::y_1 + Columns::First(args) + i;
      auto old = ReadRun<kRun>(args.residual, at);
      decltype(ReadRun<kRun>(args.slots, 0)) reads[kRanks];
#pragma unroll
      for (int rank = 0; rank < kRanks; ++rank) {
        reads[rank] = ReadRun<kRun>(args.slots, (rank * args.slots_1 + b) * kDepth + i);
      }
      // All that is missing is fetched again together: a wait for the part of each rank would cost
      // a way to L2 for each.
      bool missing;
      do {
        missing = old.Fetch();
#pragma unroll
        for (int rank = 0; rank < kRanks; ++rank) {
          missing |= reads[rank].Fetch();
        }
      } while (missing);
      float sums[kRun] = {};
#pragma unroll
      for (int rank = 0; rank < kRanks; ++rank) {
        float part[kRun];
        reads[rank].Take(part);
#pragma unroll
        for (int j = 0; j < kRun; ++j) {
          sums[j] += part[j];
        }
      }
      float values[kRun];
      old.Take(values);
#pragma unroll
      for (int j = 0; j < kRun; ++j) {
        values[j] += sums[j];
      }
      Columns::ForEachY(args, [&](auto y) { StoreRun(y, at, values); });
    }
  }
};

template <class Args>
struct AllColumns {
  static ETC_DEVICE i64 First(const Args&) { return 0; }
  /// Calls store(y).
  template <class Body>
  static ETC_DEVICE void ForEachY(const Args& args, Body store) {
    store(args.y);
  }
};
template <class Args>
struct OwnedColumns {
  static ETC_DEVICE i64 First(const Args& args) { return args.dims.peers.rank * Args::slots_2; }
  template <class Body>
  static ETC_DEVICE void ForEachY(const Args& args, Body store) {
    args.dims.peers.template ForEach<int(Args::slots_0)>(args.y.own, store);
  }
};

template <class Config, class Args>
struct AddParts : AddPartsOf<Config, Args, AllColumns<Args>> {
  using AddPartsOf<Config, Args, AllColumns<Args>>::AddPartsOf;
};
template <class Config, class Args>
struct AddPartsOfOwner : AddPartsOf<Config, Args, OwnedColumns<Args>> {
  using AddPartsOf<Config, Args, OwnedColumns<Args>>::AddPartsOf;
};

}  // namespace etc
