// Tensors in tiles: where their elements stand, and packing on the host and on a device.
#pragma once

#include <cstdint>
#include <vector>

#include "etc/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

/// A tensor in tiles, its leading axes folded into the rows: bands of as many rows as a tile has,
/// each `tiles` tiles wide. A line is one row of a tile, the longest piece that both orders have in
/// one place.
struct TiledShape {
  int64_t bands = 0;
  int64_t tiles = 0;
  int64_t rows = 0;  // of a tile
  int64_t line_bytes = 0;

  int64_t Bytes() const { return bands * tiles * rows * line_bytes; }
};

/// Checks `shape` against the parameter, which must have a layout.
Status MakeTiledShape(const manifest::Graph& graph, const manifest::Param& param,
                      const int64_t* shape, int32_t given_rank, TiledShape* tiled);

enum class Packing { Pack, Unpack };

Status CopyOnHost(const TiledShape& shape, Packing packing, const void* from, void* to);

/// Enqueues one copy of the driver for each row of a tile.
Status CopyOnDevice(const TiledShape& shape, Packing packing, const void* from, void* to,
                    void* stream);

}  // namespace etc::runtime
