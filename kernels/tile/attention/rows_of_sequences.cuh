// Rows of new tokens, grouped by sequence: row_start [T + 1] has the first row of each sequence
// and, at the end, the number of rows; without it each sequence has one. pos [T] is the position of
// a sequence's first row.
#pragma once

#include "arch/common/types.cuh"
#include "engine/options.cuh"

namespace etc {

template <class Args, class = void>
struct RowsOfSequences {
  static ETC_DEVICE int First(const Args&, int s) { return s; }
  static ETC_DEVICE int SequenceOf(const Args&, int row, int) { return row; }
};

template <class Args>
struct RowsOfSequences<Args, Void<decltype(Args::row_start)>> {
  /// The first row of sequence s.
  static ETC_DEVICE int First(const Args& args, int s) { return args.row_start[s]; }

  /// The sequence of a row; for all lanes of a warp.
  static ETC_DEVICE int SequenceOf(const Args& args, int row, int lane) {
    int before = 0;
    for (int s = lane; s < int(args.pos_0); s += 32) {
      before += args.row_start[s + 1] <= row;
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      before += __shfl_xor_sync(0xffffffffu, before, offset);
    }
    return max(0, min(int(args.pos_0) - 1, before));
  }
};

}  // namespace etc
