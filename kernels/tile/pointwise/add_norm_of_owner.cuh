// AddNorm of the rows that a rank owns, which it sends to all: rank r of P owns the rows r, r + P,
// and so on.
//
// Config: eps. `residual` is bf16 [b, K], `partials` f32 [P, rows, K], one of each rank, and y bf16
// [b, K] at every rank. Task (j): row j * P + r, whose partials are [:, j, :].
#pragma once

#include "engine/peers.cuh"
#include "tile/pointwise/add_norm.cuh"

namespace etc {

template <int ranks>
struct OwnedRows {
  template <class Args>
  static ETC_DEVICE i64 RowOf(const Args& args, int j) {
    return i64(j) * ranks + args.dims.peers.rank;
  }
  template <class Args>
  static ETC_DEVICE bool Exists(const Args& args, i64 row) {
    return row < args.residual_0;
  }
  template <class Args, class Body>
  static ETC_DEVICE void ForEachY(const Args& args, Body store) {
    args.dims.peers.template ForEach<ranks>(args.y.own, store);
  }
};

template <class Config, class Args>
struct AddNormOfOwner : AddNormOf<Config, Args, OwnedRows<int(Args::partials_0)>> {
  using Base = AddNormOf<Config, Args, OwnedRows<int(Args::partials_0)>>;
  using Base::AddNormOf;
};

}  // namespace etc
