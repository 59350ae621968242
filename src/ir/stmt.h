// Statements of a device function's body.
#pragma once

#include <variant>
#include <vector>

#include "ir/expr.h"
#include "ir/ids.h"
#include "support/source.h"

namespace etc {

/// `for (r: 32, c: n) { … }`: the iterations are independent and may run in any order.
/// `scan (i: 1..n) { … }`: they run one after the other, in row-major order of the axes, and each
/// sees what those before it stored.
struct For {
  std::vector<Axis> axes;
  std::vector<StmtId> body;
  bool sequential = false;  // `scan`
};
/// `if (c) { … } else { … }`
struct If {
  ExprId condition;
  std::vector<StmtId> body;
  std::vector<StmtId> otherwise;  // empty where there is no `else`
  SourceRange else_range = {};    // of the word
};
/// `let x = e;`: a scalar, visible to the end of its block.
struct Let {
  SymbolId symbol;
  ExprId value;
};
/// `let (v, i) = argmax(k: n) x;`: the largest value and its first index. Over no element the value
/// is minus infinity (the least integer) and the index the lower bound; `argmin` is the mirror.
struct LetPair {
  SymbolId value;
  SymbolId index;
  ExprId reduction;  // a Reduce of `argmax` or `argmin`
};
/// `local %s: f32[64];`: an array private to the task (at the top of a body) or to the iteration
/// (inside a `for` or a `scan`). Its shape is constant.
struct LocalDecl {
  TensorId tensor;
};
/// `%t[i] = e;`, or `%t[i] += e;`, which is `%t[i] = %t[i] + e;`. `%t@(r)[i] = e;` stores to the
/// element of another rank.
struct Assign {
  TensorId tensor;
  std::vector<ExprId> indices;
  ExprId value;
  bool adds = false;  // `+=`
  ExprId peer = {};   // whose element it is; absent: that of the own rank
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

using Stmt = std::variant<For, If, Let, LetPair, LocalDecl, Assign, TopK>;

}  // namespace etc
