// What the experts of each token found: y[b, n] = the sum over s of weight[b, s] * z[slot[b, s],
// n], in the order of s, and where Args has `residual`, that and residual[b, n]. A y that is
// symmetric, [ranks, b, n], gets it at every rank, as y[rank, b, n], or with `owned` at the rank
// that owns the row, b % ranks, as y[rank, b / ranks, n]; there a choice whose slot is behind z is
// another rank's, and adds nothing.
//
// Task (b, c): `columns` outputs of one token, a multiple of 4; each thread has 4 neighbours.
//
// Config: columns, owned. Args: z f32 [slots, N], slot i32 [B, top], weight f32 [B, top]; y f32 [1,
// B, N], symmetric f32 [ranks, B, N], or residual and y bf16 [B, N].
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

ETC_OPTION(CombinesForOwners, owned, bool, false);

/// Of four neighbouring outputs.
ETC_DEVICE void AddWeighted(float (&sums)[4], float weight, Vec4 found) {
  sums[0] = fmaf(weight, BitsToFloat(found.x), sums[0]);
  sums[1] = fmaf(weight, BitsToFloat(found.y), sums[1]);
  sums[2] = fmaf(weight, BitsToFloat(found.z), sums[2]);
  sums[3] = fmaf(weight, BitsToFloat(found.w), sums[3]);
}

struct alignas(8) FourBf16 {
  u32 low, high;
};
ETC_DEVICE FourBf16 Added(FourBf16 old, const float (&sums)[4]) {
  return {PackBf16(LowBf16(old.low) + sums[0], HighBf16(old.low) + sums[1]),
          PackBf16(LowBf16(old.high) + sums[2], HighBf16(old.high) + sums[3])};
}

template <class Args, class = void>
struct AddsResidual {
  static constexpr bool value = false;
};
template <class Args>
struct AddsResidual<Args, Void<decltype(Args::residual)>> {
  static constexpr bool value = true;
};

template <class Args, class = void>
struct SendsSums {
  static constexpr bool value = false;
};
template <class Args>
struct SendsSums<Args, Void<decltype(Args::y.own)>> {
  static constexpr bool value = true;
};

template <class Config, class Args>
class CombineExperts {
  static constexpr int kTop = int(Args::slot_1);
  static constexpr int kOutputs = int(Args::z_1);
  static constexpr int kColumns = int(Config::columns);
  static_assert(kOutputs % 4 == 0 && kColumns % 4 == 0, "a thread has 4 neighbouring outputs");

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE CombineExperts(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int c) {
    int end = min((c + 1) * kColumns, kOutputs);
    const u32* slots = reinterpret_cast<const u32*>(args.slot) + b * kTop;
    const u32* weights = reinterpret_cast<const u32*>(args.weight) + b * kTop;
    // All of them on their way at once: what the launch wrote comes from L2.
    i64 rows[kTop];
    float weight[kTop];
#pragma unroll
    for (int s = 0; s < kTop; ++s) {
      rows[s] = i64(LoadRelaxed(slots + s)) * kOutputs;
      weight[s] = BitsToFloat(LoadRelaxed(weights + s));
      weight[s] = IsOwn<Args>(rows[s]) ? weight[s] : 0.0f;
    }
#pragma unroll 1
    for (int n = c * kColumns + consumer.thread * 4; n < end; n += Consumer::kThreads * 4) {
      Vec4 found[kTop];
#pragma unroll
      for (int s = 0; s < kTop; ++s) {
        found[s] = IsOwn<Args>(rows[s]) ? LoadGlobal(args.z + rows[s] + n) : Vec4{};
      }
      float sums[4] = {};
#pragma unroll
      for (int s = 0; s < kTop; ++s) {
        AddWeighted(sums, weight[s], found[s]);
      }
      Store(args, b, n, sums);
    }
  }

 private:
  /// Whether z has it, which it has where no ranks share the experts.
  template <class A>
  static ETC_DEVICE bool IsOwn(i64 row) {
    if constexpr (SendsSums<A>::value) {
      return row < i64(A::z_0) * kOutputs;
    } else {
      return true;
    }
  }

  template <class A>
  static ETC_DEVICE void Store(const A& args, int b, int n, const float (&sums)[4]) {
    i64 at = i64(b) * kOutputs + n;
    if constexpr (AddsResidual<A>::value) {
      FourBf16 old = *reinterpret_cast<const FourBf16*>(args.residual + at);
      *reinterpret_cast<FourBf16*>(args.y + at) = Added(old, sums);
    } else {
      Vec4 words{FloatToBits(sums[0]), FloatToBits(sums[1]), FloatToBits(sums[2]),
                 FloatToBits(sums[3])};
      if constexpr (CombinesForOwners<Config>::value) {
        float* row =
            args.dims.peers.template RowAtOwner<int(A::y_0)>(args.y.own, args.y_1, kOutputs, b);
        StoreGlobal(row + n, words);
      } else if constexpr (SendsSums<A>::value) {
        Send(args, at, words);
      } else {
        StoreGlobal(args.y + at, words);
      }
    }
  }

  /// To all ranks.
  template <class A>
  static ETC_DEVICE void Send(const A& args, i64 at, Vec4 words) {
    const auto& peers = args.dims.peers;
    float* slot = args.y.own + peers.rank * args.y_1 * kOutputs + at;
    peers.template ForEach<int(A::y_0)>(slot, [&](float* y) { StoreGlobal(y, words); });
  }
};

}  // namespace etc
