// The elements that a device function's body, or the value range of a tensor, reads and writes.
#pragma once

#include <vector>

#include "ir/module.h"

namespace etc {

/// A variable in scope: of an axis, a scalar parameter (without a range if `hi` is absent), or of a
/// `let` (then `lo` is its value and `hi` is absent).
struct BodyVariable {
  SymbolId symbol;
  ExprId lo;
  ExprId hi;
  bool is_let = false;

  bool IsFree() const { return !is_let && !hi; }
};

/// A condition under which an access happens.
struct Guard {
  ExprId condition;
  bool wanted;
};

/// An element that the body reads or writes, with all that surrounds it.
struct ElementAccess {
  TensorId tensor;
  bool writes;
  std::vector<ExprId> indices;
  std::vector<BodyVariable> variables;
  std::vector<Guard> guards;
};

/// All of them, in the order of evaluation. The first variables of each are the task's coordinates.
std::vector<ElementAccess> CollectAccesses(const Module& module, const Device& device);

/// Those that the value range of a tensor's elements reads. The variables are the names of indices.
std::vector<ElementAccess> CollectAccesses(const Module& module, const Tensor& tensor);

}  // namespace etc
