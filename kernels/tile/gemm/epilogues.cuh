// What a GEMM makes of its sums: the words of the option `epilogue`.
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/options.cuh"

namespace etc {

// Epilogues. y has kColumns outputs for each b. kInputs sums make one output; an operand is read
// before the sums are there, so that its latency is hidden; kReadsPlain: not before the consumers
// have waited for it. Each call is for `run` neighbouring outputs n of one b, n a multiple of
// `run`.

struct NoOperand {};

struct EpilogueBase {
  template <class Args>
  static constexpr int kColumns = int(Args::y_1);
  static constexpr bool kFindsLargest = false;
};

/// y = sum
struct store : EpilogueBase {
  static constexpr int kInputs = 1;
  template <class Args>
  static constexpr bool kReadsPlain = false;
  template <int run, class Args>
  static ETC_DEVICE NoOperand Operand(const Args&, i64, i64) {
    return {};
  }
  template <class Args, int run>
  static ETC_DEVICE void Apply(const Args& args, i64 b, i64 n, const float (&sums)[1][run],
                               NoOperand) {
    StoreRun(args.y, b * args.y_1 + n, sums[0]);
  }
};

/// y [0, b, n] = sum: the only part of what the next call adds up.
struct only_part : store {
  template <class Args>
  static constexpr int kColumns = int(Args::y_2);
  template <class Args, int run>
  static ETC_DEVICE void Apply(const Args& args, i64 b, i64 n, const float (&sums)[1][run],
                               NoOperand) {
    static_assert(int(Args::y_0) == 1, "there is one part");
    StoreRun(args.y, b * kColumns<Args> + n, sums[0]);
  }
};

/// y = sum, and largest [n / 16, b]: the largest of every 16 neighbouring outputs. So short columns
/// of all b are stored whole, and the arg-max has a sixteenth to read.
struct largest : store {
  static constexpr bool kFindsLargest = true;
  static constexpr int kBlock = 16;
};

/// y [rank, b, n] = sum, at every rank: the own part of what all ranks add up. The peers come
/// first, as the way to them is longer.
struct send : EpilogueBase {
  template <class Args>
  static constexpr int kColumns = int(Args::y_2);
  static constexpr int kInputs = 1;
  template <class Args>
  static constexpr bool kReadsPlain = false;

  template <int run, class Args>
  static ETC_DEVICE auto Operand(const Args& args, i64, i64) {
    return args.dims.peers.template DistancesBehind<int(Args::y_0)>();
  }
  template <class Args, int run, class T>
  static ETC_DEVICE void Apply(const Args& args, i64 b, i64 n, const float (&sums)[1][run],
                               const T& given) {
#ifdef ETC_WATCHED  // a wait that was given up has cut the rank off from its peers
    const T distances = Operand<run>(args, b, n);
#else
    const T& distances = given;
#endif
    i64 at = (args.dims.peers.rank * args.y_1 + b) * kColumns<Args> + n;
#pragma unroll
    for (i64 distance : distances.to) {
      StoreRun(args.dims.peers.Moved(args.y.own, distance), at, sums[0]);
    }
  }
};

/// The same at the rank that owns the column, as y [rank, b, n % own]: rank r owns `own` from r own
/// on.
struct send_to_owner : send {
  template <class Args>
  static constexpr int kOwn = int(Args::y_2);
  template <class Args>
  static constexpr int kColumns = int(Args::y_0) * kOwn<Args>;

  template <int run, class Args>
  static ETC_DEVICE i64 Operand(const Args& args, i64, i64 n) {
    return args.dims.peers.distances[u32(n) / u32(kOwn<Args>)];
  }
  template <class Args, int run>
  static ETC_DEVICE void Apply(const Args& args, i64 b, i64 n, const float (&sums)[1][run],
                               i64 given) {
#ifdef ETC_WATCHED  // a wait that was given up has cut the rank off from its peers
    given = Operand<run>(args, b, n);
#endif
    const auto& peers = args.dims.peers;
    i64 at = (peers.rank * args.y_1 + b) * kOwn<Args> + u32(n) % u32(kOwn<Args>);
    StoreRun(peers.Moved(args.y.own, given), at, sums[0]);
  }
};

/// y = residual + sum; both may be the same buffer.
struct residual : EpilogueBase {
  static constexpr int kInputs = 1;
  template <class Args>
  static constexpr bool kReadsPlain = !IsFlagged<decltype(Args::residual)>::value;
  template <int run, class Args>
  static ETC_DEVICE auto Operand(const Args& args, i64 b, i64 n) {
    return ReadRun<run>(args.residual, b * args.residual_1 + n);
  }
  template <class Args, int run, class T>
  static ETC_DEVICE void Apply(const Args& args, i64 b, i64 n, const float (&sums)[1][run],
                               const T& operand) {
    float values[run];
    operand.Get(values);
#pragma unroll
    for (int i = 0; i < run; ++i) {
      values[i] += sums[0][i];
    }
    StoreRun(args.y, b * args.y_1 + n, values);
  }
};

/// y = Activation(gate) * up
template <class Activation>
struct GatedEpilogue : EpilogueBase {
  static constexpr int kInputs = 2;
  template <class Args>
  static constexpr bool kReadsPlain = false;
  template <int run, class Args>
  static ETC_DEVICE NoOperand Operand(const Args&, i64, i64) {
    return {};
  }
  static ETC_DEVICE float Gate(float gate, float up) { return Activation::Of(gate) * up; }
  template <class Args, int run>
  static ETC_DEVICE void Apply(const Args& args, i64 b, i64 n, const float (&sums)[2][run],
                               NoOperand) {
    float values[run];
#pragma unroll
    for (int i = 0; i < run; ++i) {
      values[i] = Gate(sums[0][i], sums[1][i]);
    }
    StoreRun(args.y, b * args.y_1 + n, values);
  }
};
struct SiluActivation {
  static ETC_DEVICE float Of(float x) { return Silu(x); }
};
struct GeluActivation {
  static ETC_DEVICE float Of(float x) { return Gelu(x); }
};
struct silu_mul : GatedEpilogue<SiluActivation> {};
struct gelu_mul : GatedEpilogue<GeluActivation> {};
/// The second of these two where the option `gelu` says so, else the first.
struct gated {};

}  // namespace etc
