// GEMM of many rows whose tiles (many_rows_tile.cuh) are divided among ranks. m are the rows of a
// rank, and the q-th of its peers is the q-th behind it.
//
//   ManyRowsForPeers   task (q, g, i, j)   x [ranks m, K], y [peers, m, N]: rows of that peer,
//   which
//                                          are stored there, among the parts of all others
//   ManyRowsWithParts  task (g, i, j)      x [ranks m, K], y [m, N]: the own rows and the parts of
//   the
//                                          peers, parts [peers, m, N]
//   OwnManyRows        task (g, i, j)      x [m, K], y [ranks m, N]: the own rows
//   ManyRowsOfPeers    task (q, g, i, j)   x [peers, m, K], y [ranks m, N]: rows that the peer has
//   sent
//
// All are bf16; i and j say which rows and columns, as in many_rows_gemm.cuh.
#pragma once

#include "arch/common/types.cuh"
#include "engine/peers.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/many_rows_tile.cuh"

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

/// A part may take long to get there. The consumers do not wait for that: the epilogue warp, which
/// has nothing else to do, notifies behind their stores.
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
    bf16* parts = args.dims.peers.At(args.y.own, Base::template Behind<kPeers>(args, q));
    auto place = Base::PlaceOf(parts, (kPeers - 1 - q) * args.y_1, args.y_1, i, j);
    consumer.AcquirePartials();
    Tile::Run(consumer, place, typename Tile::NoParts(), await...);
    consumer.CommitPartials();
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
};

template <class Config, class Args>
struct ManyRowsWithParts : ManyRowsOverRanks<Args> {
  using Base = ManyRowsOverRanks<Args>;
  using Base::Base;
  using typename Base::Tile;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int, int i, int j) {
    Tile::Load(loader, args, args.x_slice, int(Base::Own(args) * args.y_0) + i * Tile::kRows,
               j * Tile::kColumns);
  }

  template <class... Await>
  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int, int i, int j,
                      const Await&... await) {
    i64 first = i64(i * Tile::kRows) * Tile::kOutputs + j * Tile::kColumns;
    typename Tile::template Parts<int(Args::parts_0)> parts{args.parts + first,
                                                            args.parts_1 * Tile::kOutputs};
    Tile::Run(consumer, Base::PlaceOf(args.y, 0, args.y_0, i, j), parts, await...);
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
    Tile::Run(consumer, place, typename Tile::NoParts(), await...);
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
    Tile::Run(consumer, place, typename Tile::NoParts(), await...);
  }
};

}  // namespace etc
