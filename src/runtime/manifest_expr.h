// The manifest's integer expressions: evaluation and text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

struct OpInfo {
  std::string_view spelling;
  manifest::Op op;
  int arity;
  int precedence;  // of an infix operator, as in the language; 0: written like a call
};
const OpInfo* FindOp(std::string_view spelling);

/// The value of `expr`, with `dims` the values of the graph's dims. A failure is the manifest's
/// fault: a division by zero or an overflow.
Status Evaluate(const manifest::Expr& expr, const std::vector<int64_t>& dims, int64_t* value);

/// As in the language: `n*32`, `ceildiv(n, 8)`.
std::string ToText(const manifest::Expr& expr, const std::vector<manifest::Dim>& dims);

/// What is taken of each tensor, as in the language: `[0..3072 of 9216, *]`; nothing where that is
/// all.
std::string RangesText(const manifest::Source& source);

/// Whether the value depends on a dim.
bool NamesDim(const manifest::Expr& expr);

/// Whether every dim that `expr` names has a value in `known`.
bool IsKnown(const manifest::Expr& expr, const std::vector<std::optional<int64_t>>& known);

}  // namespace etc::runtime
