// The sizes of attention over a paged KV cache: of heads, of what a warp takes at once, and of the
// ring's slots.
#pragma once

#include "engine/roles.cuh"
#include "tile/attention/attention_tile.cuh"
#include "tile/attention/kv_pages.cuh"

namespace etc {

/// A slot of `kBytes` has the keys and then the values of kSlotRows positions, of one page or of
/// several. The warps take 16 positions each, by turns: kSlotWarps of them share a slot.
template <class Args, int kQueryHeads, int kBytes, bool kOfOnePage>
struct AttentionShape {
  using Pages = KvPages<Args>;
  static constexpr int kDim = Pages::kDim;
  static constexpr int kKvHeads = Pages::kKvHeads;
  static constexpr int kHeads = kQueryHeads;
  static constexpr int kGroup = kHeads / kKvHeads;  // query heads that share a KV head
  static_assert(kHeads % kKvHeads == 0, "each KV head serves as many query heads");
  using Blocks = HeadBlocks<kGroup>;
  using Tile = AttentionTile<kDim>;
  using State = AttentionState<kDim>;

  static constexpr int kWarps = Consumer::kWarps;
  static constexpr int kRowBytes = Tile::kRowBytes;
  static constexpr int kSlotBytes = kBytes;
  static constexpr int kAllRows = Blocks::kWarps * Tile::kRows;  // that all warps take at once
  static constexpr int kMostRows =
      kOfOnePage && Pages::kPageSize < kAllRows ? Pages::kPageSize : kAllRows;
  static constexpr int kSlotRows = Pages::RowsOf(kSlotBytes, kMostRows);
  static constexpr int kSlotWarps = kSlotRows / Tile::kRows * Blocks::kCount;
  static_assert(kWarps % kSlotWarps == 0, "the warps take the slots by turns");
};

}  // namespace etc
