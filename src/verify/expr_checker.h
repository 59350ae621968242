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
  ExprChecker(const Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics) {}

  /// The kind of the expression; Error when something in it was reported.
  ValueKind Check(ExprId id);

  /// `what` says what the expression is, for the message: "the count of `%e`".
  void ExpectInt(ExprId id, const std::string& what) { Expect(id, ValueKind::Int, what); }
  void ExpectBool(ExprId id, const std::string& what) { Expect(id, ValueKind::Bool, what); }
  void Expect(ExprId id, ValueKind wanted, const std::string& what);

  /// The bounds of each axis are integers.
  void CheckAxes(const std::vector<Axis>& axes);

  /// Rank and index kinds of an element.
  void CheckElement(TensorId tensor, const std::vector<ExprId>& indices, SourceRange range);

  /// Nothing but constants, `lower` and `upper`, and (when allowed) dimensions occurs in it.
  bool CheckClosed(ExprId id, bool dims_allowed, const std::string& what, DiagnosticKind kind);

  void DeclareLet(SymbolId symbol, ValueKind kind) { lets_[symbol] = kind; }

 private:
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
  std::map<SymbolId, ValueKind> lets_;
};

/// "an integer", "a float", "a boolean".
std::string_view Describe(ValueKind kind);

}  // namespace etc
