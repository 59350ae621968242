// Closed forms of what the analysis finds: expressions over sizes and the coordinates of one task.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/expr.h"
#include "ir/ids.h"

namespace etc {

/// An expression over a task. Booleans occur in conditions only.
struct TaskExpr {
  enum class Kind {
    Number,      // `value`
    Dim,         // `dim`
    Iteration,   // of repeat number `value` around the call, the outermost first
    Coordinate,  // number `value` of the task
    Binary,      // `op` of two
    Min,         // of two
    Max,         // of two
    CeilDiv,     // of two
    Select,      // condition, then, else
    Element,     // of `tensor`, at as many indices as it has axes
  };
  Kind kind = Kind::Number;
  int64_t value = 0;
  SymbolId dim = {};
  BinaryOp op = BinaryOp::Add;
  std::vector<TaskExpr> args = {};
  TensorId tensor = {};

  bool operator==(const TaskExpr&) const = default;
};

}  // namespace etc
