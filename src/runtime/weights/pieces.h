// Uploads in pieces of some megabytes, and the parts of them that threads fill.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/weights/plan.h"

namespace etc::runtime {

/// A run of a parameter's elements, through its tensors in their order, of which all are of one
/// dtype. Those of a packed parameter are whole bands of tiles.
struct WeightPiece {
  size_t param = 0;  // of the plan
  Conversion conversion;
  int64_t first = 0;
  int64_t elements = 0;
  bool is_raw = false;  // on its way as it was read: the device does the rest

  int64_t At() const { return first * conversion.to_bytes; }  // in the parameter's memory
  int64_t Bytes() const { return elements * conversion.to_bytes; }
  int64_t ReadBytes() const { return elements * conversion.from_bytes; }
  /// Of so many elements on their way.
  int64_t BufferBytes(int64_t of) const {
    return of * (is_raw ? conversion.from_bytes : conversion.to_bytes);
  }
  int64_t BufferBytes() const { return BufferBytes(elements); }
};

/// None has more than `most` bytes, read or made, unless a band alone has. The pieces of a run of
/// tensors are about equal.
std::vector<WeightPiece> CutIntoPieces(const WeightPlan& plan, int64_t most);

/// How many elements of a piece a thread fills at a time: so few that what it converts and packs
/// is in its core's cache, and that no thread has to be waited for long.
int64_t PartElements(const WeightPlan& plan, const WeightPiece& piece);

/// Reads a piece or a part of one and, unless it is raw, converts and packs it. `scratch` keeps its
/// room between calls.
Status FillPiece(const WeightPlan& plan, const WeightPiece& piece, std::vector<char>* scratch,
                 char* to);

}  // namespace etc::runtime
