// Where the bytes of a tensor in tiles stand: the one definition, for the host and for kernels.
#pragma once

#include <cstdint>

#include "runtime/host_device.h"

namespace etc::runtime {

/// Bands of as many rows as a tile has, each `tiles` tiles wide. A line is one row of a tile.
struct TileOrder {
  int64_t tiles = 0;
  int64_t rows = 0;  // of a tile
  int64_t line_bytes = 0;
  bool swizzle = false;

  /// What the swizzle adds (exclusive or) to the bytes of a row.
  ETC_HOST_DEVICE int64_t SwizzleOf(int64_t row) const {
    const int64_t mask = swizzle ? line_bytes / 16 - 1 : 0;
    return (row * line_bytes >> 7 & mask) << 4;
  }

  /// Where byte `at` of row `row` stands in a packed tile.
  ETC_HOST_DEVICE int64_t InTile(int64_t row, int64_t at) const {
    return row * line_bytes + (at ^ SwizzleOf(row));
  }

  /// Where the byte at `packed` stands in the row-major tensor, of less than 4 GB: a device divides
  /// by words of 32 bits in a fraction of the code.
  ETC_HOST_DEVICE uint32_t InRows(uint32_t packed) const {
    const auto line_size = static_cast<uint32_t>(line_bytes);
    const auto width = static_cast<uint32_t>(tiles);
    const auto height = static_cast<uint32_t>(rows);
    const uint32_t line = packed / line_size;  // counted through all tiles
    const uint32_t row = line % height;
    const uint32_t tile = line / height;
    const uint32_t at = (packed % line_size) ^ static_cast<uint32_t>(SwizzleOf(row));
    return ((tile / width * height + row) * width + tile % width) * line_size + at;
  }
};

}  // namespace etc::runtime
