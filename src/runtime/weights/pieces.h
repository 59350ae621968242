// Uploads in pieces of a few megabytes, which threads take one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/weights/plan.h"

namespace etc::runtime {

/// A run of a parameter's memory, and the elements that belong there. Those of a packed parameter
/// are whole bands of tiles.
struct WeightPiece {
  size_t param = 0;  // of the plan
  const CheckpointTensor* tensor = nullptr;
  int64_t first = 0;  // element of the tensor, or of the rank's part of it
  int64_t elements = 0;
  int64_t at = 0;  // byte in the parameter's memory
  int64_t bytes = 0;
  int64_t read_bytes = 0;  // as the checkpoint has the elements
  bool is_raw = false;     // on its way as it was read: the device does the rest

  int64_t BufferBytes() const { return is_raw ? read_bytes : bytes; }
};

/// None has more than `most` bytes, read or made, unless a band alone has.
std::vector<WeightPiece> CutIntoPieces(const WeightPlan& plan, int64_t most);

/// Reads a piece and, unless it is raw, converts and packs it. `scratch` keeps its room between
/// pieces.
Status FillPiece(const WeightPlan& plan, const WeightPiece& piece, std::vector<char>* scratch,
                 char* to);

}  // namespace etc::runtime
