// What tensor copies of a kernel know of its tensors, at the beginning of its launch block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/json_object.h"
#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

/// The words of a tensor map. A launch block that begins with maps is a multiple of half a map.
inline constexpr size_t kMapWords = 16;
inline constexpr size_t kMapAlignmentWords = 8;
/// The rows of a box with more bytes are not swizzled.
inline constexpr int64_t kWidestSwizzle = 128;

/// A tensor in memory and a box of it, whose rows are swizzled in shared memory up to
/// kWidestSwizzle.
struct TensorBox {
  const void* data = nullptr;
  int64_t element_bytes = 0;
  std::array<int64_t, 3> shape = {};  // slices, rows, columns
  int64_t box_rows = 0;
  int64_t box_columns = 0;
};

/// Reads an entry of a kernel's `tensor_maps`.
Status ReadTensorMap(const JsonValue& value, const manifest::Graph& graph,
                     manifest::TensorMap* map);

/// The tensor's box under the dims, without its place in memory.
Status SizeBox(const manifest::TensorMap& map, const std::vector<int64_t>& dims, TensorBox* box,
               int64_t* offset);

}  // namespace etc::runtime
