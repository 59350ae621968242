// GEMM of many rows whose tiles (many_rows_tile.cuh) are divided among ranks. m are the rows of a
// rank, and the q-th of its peers is the q-th behind it. Kernels, their tasks and operands:
//
//   ManyRowsForPeers        (q, g, i, j)   x [ranks m, K], y [peers, m, N]: rows of that peer,
//                                          stored there, among the parts of all others
//   ManyRowsCopiedToPeers   (q, g, i, j)   the same by way of made [peers, m, N]
//   ManyRowsWithParts       (g, i, j)      x [ranks m, K], y [m, N]: the own rows and the parts of
//                                          the peers, parts [peers, m, N]
//   OwnManyRows             (g, i, j)      x [m, K], y [ranks m, N]: the own rows
//   ManyRowsOfPeers         (q, g, i, j)   x [peers, m, K], y [ranks m, N]: rows that the peer has
//                                          sent
//
// All are bf16; i and j say which rows and columns, as in many_rows_gemm.cuh.
#pragma once

#include "arch/common/types.cuh"
#include "engine/peers.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/many_rows_tile.cuh"
#include "tile/pointwise/copy_rows.cuh"

namespace etc {

template <class Args>
struct ManyRowsOverRanks {
  using Tile = ManyRowsTile<Args>;
  using AwaitsItself = void;
  static constexpr int kSlotBytes = Tile::kSlotBytes;
  static constexpr int kScratchBytes = Tile::kScratchBytes;

  ETC_DEVICE ManyRowsOverRanks(Consumer&, const Args&) {}

 protected:
  static ETC_DEVICE i64 Own(const Args& args) { return args.dims.peers.rank; }
  template <int peers>
  static ETC_DEVICE i64 Behind(const Args& args, int q) {
    return u32(args.dims.peers.rank + 1 + q) % u32(peers + 1);
  }
  /// The tile of so many rows that begin at this row of `matrix`.
  static ETC_DEVICE auto PlaceOf(bf16* matrix, i64 first_row, i64 rows, int i, int j) {
    return Tile::PlaceOf(matrix + first_row * Tile::kOutputs, int(rows), i * Tile::kRows,
                         j * Tile::kColumns);
  }
};

/// The consumers store a tile at the peer. They do not wait until it is there: the epilogue warp
/// notifies behind their stores.
template <class Config, class Args>
struct ManyRowsForPeers : ManyRowsOverRanks<Args> {
  using Base = ManyRowsOverRanks<Args>;
  using Base::Base;
  using typename Base::Tile;
  static constexpr int kPeers = int(Args::y_0);

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int q, int, int i, int j) {
    int owner = int(Base::template Behind<kPeers>(args, q));
    Tile::Load(loader, args, args.x_slice, owner * int(args.y_1) + i * Tile::kRows,
               j * Tile::kColumns);
  }

  template <class... Await>
  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int q, int, int i, int j,
                      const Await&... await) {
    RunTo(consumer, AtPeer(args, q, i, j), await...);
  }

  /// The stores are done when all warps have committed.
  struct Reduction {
    using Exists = void;
    static constexpr bool kExists = true;
    static constexpr int kPartialsBytes = 0;

    ETC_DEVICE Reduction(EpilogueWarp&, const Args&) {}
    ETC_DEVICE void Run(EpilogueWarp& epilogue_warp, const Args&, int, int, int, int) {
      epilogue_warp.WaitPartials();
      epilogue_warp.ReleasePartials(0);
    }
  };

 protected:
  /// The epilogue warp knows when all warps have stored the tile.
  template <class... Await>
  static ETC_DEVICE void RunTo(Consumer& consumer, const typename Tile::Place& place,
                               const Await&... await) {
    consumer.AcquirePartials();
    Tile::Run(consumer, place, await...);
    consumer.CommitPartials();
  }
  static ETC_DEVICE auto AtPeer(const Args& args, int q, int i, int j) {
    bf16* parts = args.dims.peers.At(args.y.own, Base::template Behind<kPeers>(args, q));
    return Base::PlaceOf(parts, (kPeers - 1 - q) * args.y_1, args.y_1, i, j);
  }
};

/// The consumers store a tile in `made`, and the epilogue warp, which has nothing else to do,
/// copies it to the peer. So the products go on where all SMs end their tiles at about the same
/// time, and a link takes longer for them than the stores of a tile.
template <class Config, class Args>
struct ManyRowsCopiedToPeers : ManyRowsForPeers<Config, Args> {
  using Base = ManyRowsForPeers<Config, Args>;
  using Base::Base;
  using typename Base::Tile;

  template <class... Await>
  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int q, int, int i, int j,
                      const Await&... await) {
    Base::RunTo(consumer, Made(args, q, i, j), await...);
  }

  struct Reduction : Base::Reduction {
    using Base::Reduction::Reduction;
    ETC_DEVICE void Run(EpilogueWarp& epilogue_warp, const Args& args, int q, int, int i, int j) {
      auto made = Made(args, q, i, j);
      epilogue_warp.WaitPartials();
      CopyRows<Tile::kColumns, Tile::kOutputs>(epilogue_warp.lane, made.outputs,
                                               Base::AtPeer(args, q, i, j).outputs,
                                               min(made.rows, Tile::kRows), made.columns);
      epilogue_warp.ReleasePartials(0);
    }
  };

 private:
  static ETC_DEVICE auto Made(const Args& args, int q, int i, int j) {
    return Base::PlaceOf(args.made, q * args.y_1, args.y_1, i, j);
  }
};

template <class Config, class Args>
struct ManyRowsWithParts : ManyRowsOverRanks<Args> {
  using Base = ManyRowsOverRanks<Args>;
  using Base::Base;
  using typename Base::Tile;
  using LoadAwaitsItself = void;

  /// The product goes on while parts are on their way.
  template <class... Await>
  static ETC_DEVICE void Load(Loader& loader, const Args& args, int, int i, int j,
                              const Await&... await) {
    if (args.x_computed) {
      (await(loader), ...);
    }
    Tile::Load(loader, args, args.x_slice, int(Base::Own(args) * args.y_0) + i * Tile::kRows,
               j * Tile::kColumns);
    if (!args.x_computed) {
      (await(loader), ...);
    }
    Tile::LoadParts(loader, args, i * Tile::kRows, j * Tile::kColumns);
  }

  template <class... Await>
  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int, int i, int j,
                      const Await&... await) {
    auto place = Base::PlaceOf(args.y, 0, args.y_0, i, j);
    Tile::template Run<int(Args::parts_0)>(consumer, place, await...);
  }
};

template <class Config, class Args>
struct OwnManyRows : ManyRowsOverRanks<Args> {
  using Base = ManyRowsOverRanks<Args>;
  using Base::Base;
  using typename Base::Tile;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int, int i, int j) {
    Tile::Load(loader, args, args.x_slice, i * Tile::kRows, j * Tile::kColumns);
  }

  template <class... Await>
  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int, int i, int j,
                      const Await&... await) {
    auto place = Base::PlaceOf(args.y, Base::Own(args) * args.x_0, args.x_0, i, j);
    Tile::Run(consumer, place, await...);
  }
};

template <class Config, class Args>
struct ManyRowsOfPeers : ManyRowsOverRanks<Args> {
  using Base = ManyRowsOverRanks<Args>;
  using Base::Base;
  using typename Base::Tile;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int q, int, int i, int j) {
    Tile::Load(loader, args, args.x_slice + q, i * Tile::kRows, j * Tile::kColumns);
  }

  template <class... Await>
  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int q, int, int i, int j,
                      const Await&... await) {
    i64 owner = Base::template Behind<int(Args::x_0)>(args, q);
    auto place = Base::PlaceOf(args.y, owner * args.x_1, args.x_1, i, j);
    Tile::Run(consumer, place, await...);
  }
};

}  // namespace etc
