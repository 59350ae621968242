// Folding of expressions for known ranges of the dimensions.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// The value of an integer expression that has one value at all sizes in `ranges`.
std::optional<int64_t> OnlyValue(const Module& module, ExprId id, const DimRanges& ranges);

/// The operand of a `select`, a `min`, a `max`, an `&&` or an `||` that the expression always
/// yields at sizes in `ranges`; an absent id where there is none of the same kind.
ExprId OnlyOperand(const Module& module, ExprId id, const DimRanges& ranges);

/// Makes expressions simpler that are only asked for at sizes in `ranges`: what has one value there
/// becomes a literal, and of a `select` the side that it always yields stays.
/// What depends on no dimension and on no range keeps the names of its constants.
class Folder {
 public:
  Folder(Module& module, DimRanges ranges) : module_(module), ranges_(std::move(ranges)) {}

  const DimRanges& ranges() const { return ranges_; }

  /// An expression of the same value and kind; `id` itself where nothing is simpler.
  ExprId Fold(ExprId id);
  void Fold(std::vector<ExprId>& ids);
  void Fold(std::vector<Axis>& axes);
  void Fold(EventRef& ref);

 private:
  /// Whether the value follows the sizes or the ends of a range.
  bool Depends(ExprId id);
  /// The literal for an integer or a condition that has one value in the ranges, else absent.
  ExprId Literal(ExprId id);
  ExprId Rebuild(ExprId id);

  Module& module_;
  DimRanges ranges_;
  std::map<SymbolId, bool> depends_;  // of constants
};

}  // namespace etc
