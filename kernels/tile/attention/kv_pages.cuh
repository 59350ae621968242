// A paged KV cache [pages, KV heads, page_size, D]: page_table [B, max_pages] says which pages hold
// the positions of each sequence, in order.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

template <class Args>
struct KvPages {
  static constexpr int kKvHeads = int(Args::k_cache_1);
  static constexpr int kPageSize = int(Args::k_cache_2);
  static constexpr int kDim = int(Args::k_cache_3);

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
