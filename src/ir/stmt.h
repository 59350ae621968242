// Statements of a device function's body.
#pragma once

#include <variant>
#include <vector>

#include "ir/expr.h"
#include "ir/ids.h"

namespace etc {

/// `for (r: 32, c: n) { … }`: the iterations are independent and may run in any order.
struct For {
  std::vector<Axis> axes;
  std::vector<StmtId> body;
};
/// `if (c) { … }`
struct If {
  ExprId condition;
  std::vector<StmtId> body;
};
/// `let x = e;`: a scalar, visible to the end of its block.
struct Let {
  SymbolId symbol;
  ExprId value;
};
/// `local %s: f32[64];`: an array private to the task (at the top of a body) or to the iteration
/// (inside a `for`). Its shape is constant.
struct LocalDecl {
  TensorId tensor;
};
/// `%t[i] = e;`
struct Assign {
  TensorId tensor;
  std::vector<ExprId> indices;
  ExprId value;
};
/// `(%v[t, s], %i[t, s]) = topk(s: 8; e: 128) e;`: the `rank.hi` largest values and their indices,
/// largest first, the lower index first among equals.
struct TopK {
  TensorId values;
  std::vector<ExprId> value_indices;
  TensorId positions;
  std::vector<ExprId> position_indices;
  Axis rank;
  Axis axis;
  ExprId body;
};

using Stmt = std::variant<For, If, Let, LocalDecl, Assign, TopK>;

}  // namespace etc
