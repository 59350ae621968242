// C++ text of scalar expressions; the same for the host and for CUDA.
#pragma once

#include <string>
#include <vector>

#include "emit/raise/raised.h"
#include "ir/module.h"

namespace etc {

/// How names and tensors appear in the C++ around an expression.
class CxxScope {
 public:
  explicit CxxScope(const RaisedKernel& raised) : raised_(raised) {}
  virtual ~CxxScope() = default;

  const Module& module() const { return raised_.module; }
  /// What is decided of the kernel.
  const RaisedKernel& raised() const { return raised_; }

  /// The pointer to a tensor's first element, and its extent along `axis`, as C++ expressions.
  virtual std::string Pointer(TensorId tensor) const = 0;
  virtual std::string Extent(TensorId tensor, size_t axis) const = 0;
  /// A scalar: its C++ name, where nothing else stands for it.
  virtual std::string Scalar(SymbolId symbol) const;

  /// What must hold for an access at `indices`, as a C++ condition; empty when all is proved or
  /// promised. An access where it does not hold is not made. With a peer, the element is its.
  virtual std::string Guard(TensorId /*tensor*/, const std::vector<ExprId>& /*indices*/,
                            ExprId /*peer*/) const {
    return "";
  }
  /// The value of an element that was read, `value`, held against what is promised of it.
  virtual std::string Checked(TensorId /*tensor*/, const std::vector<ExprId>& /*indices*/,
                              std::string value) const {
    return value;
  }
  /// An operand that may be wrong: a divisor that may be 0, or the places of a shift that may be
  /// outside of 0 .. 64. What is computed then is defined.
  virtual std::string CheckedDivisor(ExprId /*division*/, std::string divisor) const {
    return divisor;
  }
  virtual std::string CheckedPlaces(ExprId /*shift*/, std::string places) const { return places; }

 private:
  const RaisedKernel& raised_;
};

/// What the name of a function that divides so begins with: `Small`, `Floor` or `TotalFloor`.
std::string_view DivisionName(Division division);

/// `i_name` for an index or a `let`, `k_name` for a constant,
/// `dims.d_name` for a dimension, `sms`. What a name stands for is told by its beginning, so that
/// none hides another: `b_` a buffer, `e_` an event, `t_` a local tensor, `end_` the end of a loop.
std::string CxxName(const Module& module, SymbolId symbol);

/// The C++ type of an element (`bf16`, `float`, …) and of a value.
std::string CxxType(DType type);
std::string_view CxxType(ValueKind kind);

/// `value`, a number of this kind, rounded once to a float of 32 bits or less.
std::string CxxNarrow(DType type, ValueKind kind, const std::string& value);

/// How a reduction that accumulates begins, and what stands round a value to take it in.
struct Accumulation {
  std::string start;
  std::string_view before;  // behind the name of what there is, `acc`
  std::string_view behind;
};
Accumulation AccumulationOf(Reduction op, std::string_view type);
/// The variable that has a shared reduction's value, or that of one which is computed once.
inline std::string CxxReductionName(size_t number) { return "reduced_" + std::to_string(number); }
inline std::string CxxKeptName(size_t number) { return "kept_" + std::to_string(number); }

/// An expression of C++ type i64, float, double or bool by its value kind. Literals are `LL` or
/// `f`, so that no arithmetic happens in 32 bits.
std::string CxxExpr(const CxxScope& scope, ExprId expr);
/// The same as a value of another kind, which the expression promotes to.
std::string CxxExprAs(const CxxScope& scope, ValueKind kind, ExprId expr);
/// A reduction, also where a variable has its value.
std::string CxxReduction(const CxxScope& scope, ExprId reduce);

/// The value of an element, as a Load of it has.
std::string CxxElement(const CxxScope& scope, TensorId tensor, const std::vector<ExprId>& indices);

/// `constexpr i64 name = 4LL;`, or of type bool, float or double.
std::string CxxConstant(const std::string& name, const Constant& constant);

/// The pointer to the first element: of an array of tensors, the one that the first index chooses.
std::string CxxBase(const CxxScope& scope, TensorId tensor, const std::vector<ExprId>& indices);

/// The element offset of `indices` from there in the tensor's layout (leading indices of a slice
/// count as whole rows).
std::string CxxOffset(const CxxScope& scope, TensorId tensor, const std::vector<ExprId>& indices);

/// The arguments of TileOffset that say how a tensor's tiles are stored.
std::string CxxTile(const CxxScope& scope, TensorId tensor);

/// `for (i64 i_k = lo, end_k = hi; i_k < end_k; ++i_k) ` for one axis.
std::string CxxFor(const CxxScope& scope, const Axis& axis);

}  // namespace etc
