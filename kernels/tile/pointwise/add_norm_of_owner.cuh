// AddNorm of the rows that a rank owns, which it sends to all: rank r of P owns the rows r, r + P,
// and so on.
//
// Config: eps. `residual` is bf16 [b, K], `partials` f32 [P, rows, K], one of each rank, and y bf16
// [b, K] at every rank. Task (j): row j * P + r, whose partials are [:, j, :].
#pragma once

#include "engine/peers.cuh"
#include "tile/pointwise/add_norm.cuh"

namespace etc {

/// What an AddNorm stores to each of so many ranks.
template <int ranks, class Peers>
struct AtEveryRank {
  bf16* own;
  const Peers& peers;
};
template <class Words, int ranks, class Peers>
ETC_DEVICE void StoreNormed(const AtEveryRank<ranks, Peers>& y, i64 at, Words words) {
  y.peers.template ForEach<ranks>(
      y.own + at, [&](bf16* elements) { *reinterpret_cast<Words*>(elements) = words; });
}

template <class Config, class Args>
class AddNormOfOwner {
  static constexpr int kRanks = int(Args::partials_0);

  /// Row j of it is the j-th that the rank owns.
  struct View {
    static constexpr i64 residual_1 = Args::residual_1;
    static constexpr i64 partials_0 = Args::partials_0;
    bf16* residual;
    const float* partials;
    i64 partials_1;
    const bf16* norm;
    AtEveryRank<kRanks, decltype(Args::dims.peers)> y;
  };
  using Norm = AddNorm<Config, View>;

 public:
  static constexpr int kSlotBytes = Norm::kSlotBytes;
  static constexpr int kScratchBytes = Norm::kScratchBytes;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  static ETC_DEVICE void Prefetch(const Consumer& consumer, const Args& args, int j) {
    Norm::Prefetch(consumer, Seen(args, 0), j);
  }

  ETC_DEVICE AddNormOfOwner(Consumer& consumer, const Args& args)
      : norm_(consumer, Seen(args, 0)) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int j) {
    i64 b = i64(j) * kRanks + args.dims.peers.rank;
    if (b < args.residual_0) {
      norm_.Run(consumer, Seen(args, (b - j) * Args::residual_1), j);
    }
  }

 private:
  /// With row j of the rank so many elements behind row j of all.
  static ETC_DEVICE View Seen(const Args& args, i64 behind) {
    return {args.residual + behind,
            args.partials,
            args.partials_1,
            args.norm,
            {args.y.own + behind, args.dims.peers}};
  }

  Norm norm_;
};

}  // namespace etc
