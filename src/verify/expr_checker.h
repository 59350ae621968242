// Value kinds, ranks and arities of expressions.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Checks each expression given to it and reports what is wrong with it once.
class ExprChecker {
 public:
  /// `where`: the sizes that the expressions are for; empty for all sizes.
  ExprChecker(const Module& module, Diagnostics& diagnostics, std::vector<Where> where = {})
      : module_(module), diagnostics_(diagnostics), where_(std::move(where)) {}

  const std::vector<Where>& where() const { return where_; }

  /// The operands of constants are left to those who ask for their values.
  void LeaveOperands() { checks_operands_ = false; }
  /// Inside of device functions nobody knows `sms`.
  void RefuseSms() { refuses_sms_ = true; }

  /// The kind of the expression; Error when something in it was reported.
  ValueKind Check(ExprId id);
  /// The same for the value of a constant, which is kept in 64 bits.
  ValueKind CheckExact(ExprId id) { return Kind(id); }

  /// `what` says what the expression is, for the message: "the count of `%e`".
  void ExpectInt(ExprId id, const std::string& what) { Expect(id, ValueKind::Int, what); }
  void ExpectBool(ExprId id, const std::string& what) { Expect(id, ValueKind::Bool, what); }
  void Expect(ExprId id, ValueKind wanted, const std::string& what);
  /// A value that is stored in an element of such a kind, which rounds floats of either width.
  void ExpectStored(ExprId id, ValueKind element, const std::string& what);

  /// The bounds of each axis are integers.
  void CheckAxes(const std::vector<Axis>& axes);

  /// Rank and index kinds of an element.
  void CheckElement(TensorId tensor, const std::vector<ExprId>& indices, SourceRange range);

  /// Nothing but constants, `lower` and `upper`, and (when allowed) dimensions occurs in it.
  bool CheckClosed(ExprId id, bool dims_allowed, const std::string& what, DiagnosticKind kind);

  void DeclareLet(SymbolId symbol, ValueKind kind) { lets_[symbol] = kind; }

 private:
  ValueKind Kind(ExprId id);
  /// Inside of an expression.
  void Require(ExprId id, ValueKind wanted, const std::string& what);
  bool IsWrong(ExprId id, ValueKind kind, ValueKind wanted, const std::string& what);
  /// A constant divisor is not 0, and a constant shift is by 0 to 63 places.
  void CheckDivisor(ExprId id, ExprId divisor);
  void CheckShift(ExprId id, ExprId places);
  /// An int of constant operands has a value. That of a division by zero was reported.
  void CheckOverflow(ExprId id);
  void CheckRanges(const std::vector<Axis>& axes);
  void CheckPlace(TensorId tensor, const std::vector<ExprId>& indices, SourceRange range);
  ValueKind KindOf(ExprId id, const IntLiteral&);
  ValueKind KindOf(ExprId id, const FloatLiteral&);
  ValueKind KindOf(ExprId id, const BoolLiteral&);
  ValueKind KindOf(ExprId id, const SymbolRef& ref);
  ValueKind KindOf(ExprId id, const Load& load);
  ValueKind KindOf(ExprId id, const Cast& cast);
  ValueKind KindOf(ExprId id, const Unary& unary);
  ValueKind KindOf(ExprId id, const Binary& binary);
  ValueKind KindOf(ExprId id, const Call& call);
  ValueKind KindOf(ExprId id, const Reduce& reduce);

  ValueKind Wrong(ExprId id, std::string message);
  /// An operand that must be a number; Error when it is not.
  ValueKind Number(ExprId id, std::string_view op);
  /// The common kind of two operands.
  ValueKind Join(ExprId id, ValueKind left, ValueKind right, std::string_view op);

  const Module& module_;
  Diagnostics& diagnostics_;
  std::vector<Where> where_;
  std::map<SymbolId, ValueKind> lets_;
  bool checks_operands_ = true;
  bool refuses_sms_ = false;
};

/// "an integer", "a float", "a double", "a boolean".
std::string_view Describe(ValueKind kind);

}  // namespace etc
