// The attentions as persistent kernels: what their sizes and parameters are, and the tasks of each.
#pragma once

#include "support.cuh"
#include "tile/attention/attention_combine.cuh"
#include "tile/attention/rotary_append.cuh"
#include "tile/attention/split_kv_attention.cuh"
#include "tile/attention/unsplit_attention.cuh"

namespace etc::test {

constexpr int kPageSize = 64;
constexpr int kMaxPages = 63;  // of one sequence: up to 4032 positions

/// The scalar parameters, where there are some.
template <int positions>
struct WindowArgs {
  struct {
    long long window = positions;
    float scale = 0.11f, norm_offset = 1;
  } scalars;
};
template <>
struct WindowArgs<0> {};

/// With window 0 all positions attend, and there are no other scalar parameters either.
template <int group, int dim, bool norm, int kv_heads = 2, int window = 0>
struct AttentionCase {
  static constexpr int kDim = dim, kGroup = group, kKvHeads = kv_heads, kHeads = kv_heads * group;
  static constexpr int kRow = (kHeads + 2 * kKvHeads) * dim;
  static constexpr bool kNorm = norm;
  static constexpr int kWindow = window;
  static double Scale() { return window > 0 ? double(0.11f) : 1 / std::sqrt(double(dim)); }
  static constexpr double kNormOffset = window > 0 ? 1 : 0;
  struct Config {
    static constexpr bool qk_norm = norm;
    static constexpr float eps = 1e-6f;
  };
  struct Args : WindowArgs<window> {
    const bf16* qkv;
    static constexpr long long qkv_1 = kRow;
    const i32* pos;
    const float* inv_freq;
    const bf16 *q_norm, *k_norm;
    bf16* q;
    static constexpr long long q_1 = kHeads * dim;
    bf16 *k_cache, *v_cache;
    static constexpr long long k_cache_1 = kKvHeads, k_cache_2 = kPageSize, k_cache_3 = dim;
    const i32* page_table;
    long long page_table_1;
    float* partial;
    static constexpr long long partial_1 = kHeads, partial_3 = dim + 2;
    long long partial_2;
    bf16* out;
    static constexpr long long out_1 = kHeads * dim;
  };
};

/// Stores the splits of each sequence and KV head that Kernel makes, and then notifies their event.
template <class Case, template <class, class> class Kernel>
struct SplitsProgram {
  using Splits = Kernel<typename Case::Config, typename Case::Args>;
  static constexpr int kSlotBytes = Splits::kSlotBytes;
  static constexpr int kScratchBytes = Splits::kScratchBytes;

  typename Case::Args args;
  int batch;
  int cap;

  ETC_DEVICE int Pairs() const { return batch * Case::kKvHeads; }
  ETC_DEVICE int Tasks() const { return Pairs() * int(args.partial_2); }

  ETC_DEVICE void Load(Loader& loader) const {
    loader.in_flight_limit = cap;
    int splits = int(args.partial_2);
    Share(Tasks(), 0, [&](int task) {
      int pair = task / splits;
      Splits::Load(loader, args, pair / Case::kKvHeads, pair % Case::kKvHeads, task % splits);
    });
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    int splits = int(args.partial_2);
    Splits made(consumer, args);
    Share(Tasks(), 0, [&](int task) {
      int pair = task / splits;
      made.Run(consumer, args, pair / Case::kKvHeads, pair % Case::kKvHeads, task % splits);
      events.Notify(consumer, pair, 1);
    });
  }
};

template <class Case>
struct AttentionProgram : SplitsProgram<Case, SplitKvAttention> {
  using Combine = AttentionCombine<typename Case::Config, typename Case::Args>;

  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    SplitsProgram<Case, SplitKvAttention>::Consume(consumer, events);
    Combine combine(consumer, this->args);
    Share(this->batch * Case::kHeads, this->Tasks(), [&](int task) {
      events.Wait(consumer, task / Case::kGroup, int(this->args.partial_2));
      combine.Run(consumer, this->args, task / Case::kHeads, task % Case::kHeads);
    });
  }
};

/// The last split joins the others.
template <class Case>
struct JoinedProgram : SplitsProgram<Case, ButLastSplitAttention> {
  using Last = FusedSplitAttention<typename Case::Config, typename Case::Args>;

  ETC_DEVICE void Load(Loader& loader) const {
    SplitsProgram<Case, ButLastSplitAttention>::Load(loader);
    Share(this->Pairs(), this->Tasks(), [&](int pair) {
      Last::Load(loader, this->args, pair / Case::kKvHeads, pair % Case::kKvHeads);
    });
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    SplitsProgram<Case, ButLastSplitAttention>::Consume(consumer, events);
    Last last(consumer, this->args);
    Share(this->Pairs(), this->Tasks(), [&](int pair) {
      events.Wait(consumer, pair, int(this->args.partial_2));
      last.Run(consumer, this->args, pair / Case::kKvHeads, pair % Case::kKvHeads);
    });
  }
};

/// UnsplitAttention alone; `reserved` bytes of shared memory are left to others.
template <class Case, int reserved = 0>
struct WholeProgram {
  using Attention = UnsplitAttention<typename Case::Config, typename Case::Args>;
  static constexpr int kSlotBytes = Attention::kSlotBytes;
  static constexpr int kScratchBytes =
      Attention::kScratchBytes > reserved ? Attention::kScratchBytes : reserved;
  static constexpr int kPartialsBytes = Attention::Reduction::kPartialsBytes;

  typename Case::Args args;
  int batch;
  int cap;

  ETC_DEVICE void Load(Loader& loader) const {
    loader.in_flight_limit = cap;
    Share(batch * Case::kKvHeads, 0, [&](int task) {
      Attention::Load(loader, args, task / Case::kKvHeads, task % Case::kKvHeads);
    });
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events&) const {
    Attention attention(consumer, args);
    Share(batch * Case::kKvHeads, 0, [&](int task) {
      attention.Run(consumer, args, task / Case::kKvHeads, task % Case::kKvHeads);
    });
  }
  ETC_DEVICE void Reduce(EpilogueWarp& epilogue_warp, const Events&) const {
    typename Attention::Reduction reduction(epilogue_warp, args);
    int tasks = batch * Case::kKvHeads, sms = int(gridDim.x);
    int ahead = int(blockIdx.x);
    Share(tasks, 0, [&](int task) {
#pragma unroll 1
      for (; ahead < tasks && ahead <= task + sms; ahead += sms) {
        reduction.Prepare(epilogue_warp, args, ahead / Case::kKvHeads, ahead % Case::kKvHeads);
      }
      reduction.Run(epilogue_warp, args, task / Case::kKvHeads, task % Case::kKvHeads);
    });
  }
};

template <class Case>
struct RotaryProgram {
  using Rotary = RotaryAppend<typename Case::Config, typename Case::Args>;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = Rotary::kScratchBytes;

  typename Case::Args args;
  int batch;

  ETC_DEVICE void Load(Loader&) const {}
  ETC_DEVICE void Consume(Consumer& consumer, const Events&) const {
    Rotary rotary(consumer, args);
    Share(batch, 0, [&](int b) { rotary.Run(consumer, args, b); });
  }
};

}  // namespace etc::test
