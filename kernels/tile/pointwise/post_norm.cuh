// Norms what a projection left, adds it to the residual stream, and norms that for the next one:
// t = x + post_norm' * z / rms(z), h = t, y = norm' * t / rms(t), where z[b, :] is the sum of
// `partials` [:, b, :] in their order, rms(z) = sqrt(mean of z^2 + eps), and a weight w' is
// w + norm_offset.
//
// Config: eps; may have norm_offset (0). x, h and y are bf16 [b, K], partials f32 [P, b, K]; K is a
// multiple of 4. Task (b): one row, which the threads hold in registers.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/roles.cuh"
#include "tile/pointwise/norm.cuh"
#include "tile/pointwise/post_norm_row.cuh"

namespace etc {

template <class Config, class Args>
struct PostNorm {
  static constexpr int kDepth = int(Args::x_1);
  static_assert(kDepth % 4 == 0, "a row is a multiple of 4 elements");
  static constexpr int kParts = int(Args::partials_0);
  static constexpr bool kPhased = IsPhased<decltype(Args::partials)>::value;
  static constexpr int kRounds = kNormRounds<kDepth>;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = SumOfAll::kScratchBytes;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  static ETC_DEVICE void Prefetch(const Consumer& consumer, const Args& args, int) {
    PrefetchNorm(consumer, args.post_norm, kDepth);
    PrefetchNorm(consumer, args.norm, kDepth);
  }

  ETC_DEVICE PostNorm(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    i64 row = i64(b) * kDepth;
    i64 stride = args.partials_1 * kDepth;
    // Everything is on its way before anything is waited for.
    // Zeros where the last round has none, or the compiler would keep the task before's.
    ElementRun<const bf16*, 4> post_norms[kRounds] = {}, norms[kRounds] = {};
    decltype(ReadRun<4>(args.x, 0)) olds[kRounds] = {};
    decltype(ReadRun<4>(args.partials, 0)) parts[kRounds][kParts] = {};
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      post_norms[round] = ReadRun<4>(args.post_norm, k);
      norms[round] = ReadRun<4>(args.norm, k);
      if constexpr (!kPhased) {
        olds[round] = ReadRun<4>(args.x, row + k);
      }
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        parts[round][p] = ReadRun<4>(args.partials, p * stride + row + k);
      }
    });
    if constexpr (kPhased) {
      AwaitRow<kDepth>(consumer, [&](int round, int, bool& missing) {
#pragma unroll
        for (auto& part : parts[round]) {
          missing |= part.Fetch();
        }
      });
      ForRounds<kDepth>(
          consumer, [&](int round, int k) { olds[round] = ReadRunBehindWords(args.x, row + k); });
    }
    PostNormRow<Config, kDepth>::Norm(
        consumer, sum_, olds, parts, post_norms, norms,
        [&](int k, const float(&values)[4]) { StoreRun(args.h, row + k, values); },
        [&](int k, const float(&values)[4]) { StoreRun(args.y, row + k, values); });
  }

 private:
  SumOfAll sum_;
};

}  // namespace etc
