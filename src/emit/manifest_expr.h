// Expressions of sizes as a manifest has them: `["+", "n", 1]`.
#pragma once

#include <nlohmann/json.hpp>

#include "emit/raise/raised.h"
#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

using Json = nlohmann::ordered_json;

/// `[op, a, b]`, or its value where both sides are numbers.
Json Folded(const char* op, Json a, Json b);

/// The same value with each sum and each maximum as a tree of least depth: a program may have
/// hundreds of buffers, and the runtime takes no deep expression.
Json Balanced(const Json& expr);

/// Writes expressions over the dimensions, in given ranges of them.
class ManifestExprs {
 public:
  explicit ManifestExprs(const Module& module, DimRanges ranges = {})
      : module_(module), ranges_(std::move(ranges)) {}

  /// An integer, constants folded.
  Json Expr(ExprId id) const;
  /// A condition, as an integer that is 0 where it does not hold.
  Json Condition(ExprId id) const;
  /// Where a place ends.
  Json EndOf(const RaisedPlace& place) const;
  /// The product of the extents of axes.
  Json ProductOf(const std::vector<Axis>& axes) const;

 private:
  Json Operand(ExprId id) const;

  const Module& module_;
  DimRanges ranges_;
};

}  // namespace etc
