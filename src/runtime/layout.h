// Tensors in tiles: where their elements stand, and packing on the host and on a device.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/manifest.h"
#include "runtime/status.h"
#include "runtime/tile_order.h"

namespace etc::runtime {

/// A tensor in tiles, its leading axes folded into the rows.
struct TiledShape : TileOrder {
  int64_t bands = 0;

  int64_t Bytes() const { return bands * tiles * rows * line_bytes; }
  /// The bytes that both orders have in one place, of a line in row `row` of a tile: all, or the
  /// runs that its swizzle keeps together.
  int64_t RunBytes(int64_t row) const;
};

/// Checks `shape` against the parameter, which must have a layout.
Status MakeTiledShape(const manifest::Graph& graph, const manifest::Param& param,
                      const int64_t* shape, int32_t given_rank, TiledShape* tiled);
/// The same; the text of a failure does not name the parameter.
Status FitTiles(const manifest::Graph& graph, const manifest::Param& param, const int64_t* shape,
                int32_t given_rank, TiledShape* tiled);

enum class Packing { Pack, Unpack };

Status CopyOnHost(const TiledShape& shape, Packing packing, const void* from, void* to);

/// Enqueues one copy of the driver for each run of a tile's rows.
Status CopyOnDevice(const TiledShape& shape, Packing packing, const void* from, void* to,
                    void* stream);

}  // namespace etc::runtime
