// Splits of which data say how many each sequence has (operators/attention_by_length.etir): beside
// its last one sequence b has those whose records are first_part[b] up to first_part[b + 1] of
// partial [1, H, S, D + 2]. If there are any, they have all positions before the new one, so that
// the last split, which waits for them, has only that; if not, the last split has all.
#pragma once

#include "arch/common/types.cuh"
#include "engine/options.cuh"

namespace etc {

/// Without such a tensor, each sequence has as many splits, and its records in a row of its own.
template <class Args, class = void>
struct PartsOfSequences {
  static constexpr bool kByLength = false;
  static constexpr int kAtOnce = 1;  // records on their way where they are joined: there are few
};

template <class Args>
struct PartsOfSequences<Args, Void<decltype(Args::first_part)>> {
  static constexpr bool kByLength = true;
  static constexpr int kAtOnce = 8;

  /// The first record of a sequence, and the number of its records.
  static ETC_DEVICE int First(const Args& args, int b) { return args.first_part[b]; }
  static ETC_DEVICE int Count(const Args& args, int b) {
    return args.first_part[b + 1] - args.first_part[b];
  }
};

}  // namespace etc
