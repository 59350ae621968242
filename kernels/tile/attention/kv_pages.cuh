// A paged KV cache [pages, KV heads, page_size, D]: page_table [B, max_pages] says which pages hold
// the positions of each sequence, in order.
#pragma once

#include "arch/common/types.cuh"
#include "engine/options.cuh"

namespace etc {

ETC_SCALAR(WindowScalar, window, i64, 0);

/// Which positions attend: all, or the last `window` with the new one.
template <class Args>
struct AttentionWindow {
  static constexpr bool kExists = WindowScalar<Args>::kExists;

  /// The first of those that the one at `position` attends to.
  static ETC_DEVICE int First(const Args& args, int position) {
    if constexpr (kExists) {
      i64 window = WindowScalar<Args>::Of(args);
      return position < window ? 0 : int(position + 1 - window);
    } else {
      return 0;
    }
  }
};

template <class Args>
struct KvPages {
  static constexpr int kKvHeads = int(Args::k_cache_1);
  static constexpr int kPageSize = int(Args::k_cache_2);
  static constexpr int kDim = int(Args::k_cache_3);

  /// Positions whose keys and values fit in a slot of so many bytes: a power of two, as the
  /// positions of a page are, and at most `most`.
  static __host__ __device__ constexpr int RowsOf(int slot_bytes, int most) {
    int rows = 16;
    while (2 * rows <= most && 2 * rows * kDim * 4 <= slot_bytes) {
      rows *= 2;
    }
    return rows;
  }

  /// The page that holds a position of sequence b.
  static ETC_DEVICE int Page(const Args& args, int b, int position) {
    return args.page_table[i64(b) * args.page_table_1 + position / kPageSize];
  }
  /// The first element of a position's row of KV head h, in either cache.
  static ETC_DEVICE i64 Row(int page, int h, int position) {
    return ((i64(page) * kKvHeads + h) * kPageSize + position % kPageSize) * kDim;
  }
};

}  // namespace etc
