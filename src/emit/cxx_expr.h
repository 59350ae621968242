// C++ text of scalar expressions; the same for the host and for CUDA.
#pragma once

#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// How names and tensors appear in the C++ around an expression.
class CxxScope {
 public:
  CxxScope(const Module& module, const DimRanges& ranges) : module_(module), ranges_(ranges) {}
  virtual ~CxxScope() = default;

  const Module& module() const { return module_; }
  const DimRanges& ranges() const { return ranges_; }

  /// What is known of the symbols that are no dimensions.
  const std::map<SymbolId, Interval>& intervals() const { return intervals_; }

  /// The pointer to a tensor's first element, and its extent along `axis`, as C++ expressions.
  virtual std::string Pointer(TensorId tensor) const = 0;
  virtual std::string Extent(TensorId tensor, size_t axis) const = 0;
  /// A scalar: its C++ name, where nothing else stands for it.
  virtual std::string Scalar(SymbolId symbol) const;

  /// What must hold for an access at `indices`, as a C++ condition; empty when all is proved or
  /// promised. An access where it does not hold is not made.
  virtual std::string Guard(TensorId /*tensor*/, const std::vector<ExprId>& /*indices*/) const {
    return "";
  }
  /// The value of an element that was read, `value`, held against what is promised of it.
  virtual std::string Checked(TensorId /*tensor*/, const std::vector<ExprId>& /*indices*/,
                              std::string value) const {
    return value;
  }

 protected:
  std::map<SymbolId, Interval> intervals_;

 private:
  const Module& module_;
  const DimRanges& ranges_;
};

/// Whether an integer is known to be in lo .. 2^31: then 32 bits divide it, several times faster.
bool FitsU32(const CxxScope& scope, ExprId expr, int64_t lo);

/// `i_name` for an index or a `let`, `k_name` for a constant, `dims.name` for a dimension, `sms`.
/// What a name stands for is told by its beginning, so that none hides another: `b_` a buffer, `e_`
/// an event, `t_` a local tensor, `end_` the end of a loop.
std::string CxxName(const Module& module, SymbolId symbol);

/// A name that is no C++ keyword, and no member that all structs of arguments have; those get an
/// underscore. Different names stay different.
std::string CxxIdentifier(const std::string& name);

/// The C++ type of an element: `bf16`, `f32`, …
std::string CxxType(DType type);
/// That of a value: `i64`, `float` or `bool`.
std::string_view CxxType(ValueKind kind);

/// An expression of C++ type i64, float or bool by its value kind. Literals are `LL` or `f`, so
/// that no arithmetic happens in 32 bits.
std::string CxxExpr(const CxxScope& scope, ExprId expr);

/// The value of an element, as a Load of it has.
std::string CxxElement(const CxxScope& scope, TensorId tensor, const std::vector<ExprId>& indices);

/// `constexpr i64 name = 4LL;`, or of type bool or float by the value's kind, at sizes in `ranges`.
std::string CxxConstant(const Module& module, const std::string& name, ExprId value,
                        const DimRanges& ranges);

/// The element offset of `indices` in the tensor's layout (leading indices of a slice count as
/// whole rows).
std::string CxxOffset(const CxxScope& scope, TensorId tensor, const std::vector<ExprId>& indices);

/// The extent of a tensor's tile along the last axis but one (0) or the last (1).
int64_t TileSize(const Module& module, const Tensor& tensor, size_t axis);

/// The arguments of TileOffset that say how a tensor's tiles are stored.
std::string CxxTile(const Module& module, const Tensor& tensor);

/// `for (i64 i_k = lo, end_k = hi; i_k < end_k; ++i_k) ` for one axis.
std::string CxxFor(const CxxScope& scope, const Axis& axis);

}  // namespace etc
