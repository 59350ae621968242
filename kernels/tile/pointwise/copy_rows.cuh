// Copies rows of a matrix to another place, also at a peer, by one warp.
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"

namespace etc {

/// Copies `rows` rows of `columns` elements, or of as many as exist, of matrices of `pitch`
/// columns: fewer than 2^31 elements. Columns are multiples of 8.
template <int columns, int pitch>
ETC_DEVICE void CopyRows(int lane, const bf16* from, bf16* to, int rows, int existing = columns) {
  constexpr int run = 8;        // elements of a load
  constexpr int in_flight = 8;  // loads of a lane
  constexpr int row_runs = columns / run;
  static_assert(columns % run == 0 && pitch % run == 0, "rows begin at multiples of 16 bytes");
  auto place = [](int at) { return at / row_runs * pitch + at % row_runs * run; };
  auto exists = [&](int at) {  // nothing behind the last row
    return at < rows * row_runs && (columns == pitch || at % row_runs * run < existing);
  };
#pragma unroll 1
  for (int begin = lane; begin < rows * row_runs; begin += in_flight * 32) {
    Vec4 words[in_flight];
#pragma unroll
    for (int n = 0; n < in_flight; ++n) {
      int at = begin + n * 32;
      words[n] = LoadGlobalIf(from + place(at), exists(at));
    }
#pragma unroll
    for (int n = 0; n < in_flight; ++n) {
      int at = begin + n * 32;
      if (exists(at)) {
        StoreGlobal(to + place(at), words[n]);
      }
    }
  }
}

}  // namespace etc
