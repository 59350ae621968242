// GEMM of many rows, in tiles (many_rows_tile.cuh): y[m, n] = sum over k of x[m, k] * w[n, k].
//
//   task (g, i, j)     rows i * kRows and on, columns j * kColumns and on; g only orders the tasks
#pragma once

#include "arch/common/types.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/many_rows_tile.cuh"

namespace etc {

template <class Config, class Args>
struct ManyRowsGemm {
  using Tile = ManyRowsTile<Args>;
  using AwaitsItself = void;
  static constexpr int kSlotBytes = Tile::kSlotBytes;
  static constexpr int kScratchBytes = Tile::kScratchBytes;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int, int i, int j) {
    Tile::Load(loader, args, args.x_slice, i * Tile::kRows, j * Tile::kColumns);
  }

  ETC_DEVICE ManyRowsGemm(Consumer&, const Args&) {}

  template <class... Await>
  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int, int i, int j,
                      const Await&... await) {
    auto place = Tile::PlaceOf(args.y, int(args.y_0), i * Tile::kRows, j * Tile::kColumns);
    Tile::Run(consumer, place, await...);
  }
};

}  // namespace etc
