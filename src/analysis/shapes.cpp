#include "analysis/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "analysis/same_expr.h"
#include "ir/checked.h"
#include "ir/fold.h"
#include "ir/overloaded.h"
#include "ir/printer.h"
#include "ir/rewrite.h"

namespace etc {
namespace {

/// A sum of products: sorted atoms (texts) to their coefficient; no zero coefficients.
using Monomial = std::vector<std::string>;
using Polynomial = std::map<Monomial, int64_t>;

bool AddTerm(Polynomial& sum, const Monomial& atoms, int64_t coefficient) {
  auto total = CheckedAdd(sum[atoms], coefficient);
  if (!total) {
    return false;
  }
  sum[atoms] = *total;
  if (*total == 0) {
    sum.erase(atoms);
  }
  return true;
}

std::optional<Polynomial> Sum(const Polynomial& a, const Polynomial& b, int64_t sign) {
  Polynomial sum = a;
  for (const auto& [atoms, coefficient] : b) {
    auto signed_coefficient = CheckedMul(coefficient, sign);
    if (!signed_coefficient || !AddTerm(sum, atoms, *signed_coefficient)) {
      return std::nullopt;
    }
  }
  return sum;
}

std::optional<Polynomial> Product(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const auto& [atoms_a, coefficient_a] : a) {
    for (const auto& [atoms_b, coefficient_b] : b) {
      Monomial atoms = atoms_a;
      atoms.insert(atoms.end(), atoms_b.begin(), atoms_b.end());
      std::sort(atoms.begin(), atoms.end());
      auto coefficient = CheckedMul(coefficient_a, coefficient_b);
      if (!coefficient || !AddTerm(product, atoms, *coefficient)) {
        return std::nullopt;
      }
    }
  }
  return product;
}

std::string Text(const Polynomial& polynomial) {
  std::string text;
  for (const auto& [atoms, coefficient] : polynomial) {
    text += fmt::format("+{}", coefficient);
    for (const std::string& atom : atoms) {
      text += "*" + atom;
    }
  }
  return "(" + text + ")";
}

Polynomial Atom(std::string text) { return {{{std::move(text)}, 1}}; }

std::optional<int64_t> Constant(const Polynomial& polynomial) {
  if (polynomial.empty()) {
    return 0;
  }
  if (polynomial.size() == 1 && polynomial.begin()->first.empty()) {
    return polynomial.begin()->second;
  }
  return std::nullopt;
}

/// `a / b`, exact where a constant divides every coefficient.
Polynomial Quotient(const Polynomial& a, const Polynomial& b, std::string_view op) {
  auto divisor = Constant(b);
  auto divides = [&](const auto& term) { return term.second % *divisor == 0; };
  if (divisor && *divisor > 0 && std::all_of(a.begin(), a.end(), divides)) {
    Polynomial quotient = a;
    for (auto& [atoms, coefficient] : quotient) {
      coefficient /= *divisor;
    }
    return quotient;
  }
  return Atom(fmt::format("{}{}{}", op, Text(a), Text(b)));
}

/// Makes polynomials of expressions.
class Former {
 public:
  /// `next`: a variable that stands for one more than its value, if it is given.
  Former(const Module& module, const DimRanges& ranges, SymbolId next = {})
      : module_(module), ranges_(ranges), next_(next) {}

  std::optional<Polynomial> Of(ExprId id) const {
    if (auto value = OnlyValue(module_, id, ranges_)) {
      return *value == 0 ? Polynomial{} : Polynomial{{{}, *value}};
    }
    if (ExprId operand = OnlyOperand(module_, id, ranges_)) {
      return Of(operand);
    }
    return std::visit(
        Overloaded{
            [&](const SymbolRef& ref) { return OfSymbol(ref.symbol); },
            [&](const Unary& unary) { return OfUnary(id, unary); },
            [&](const Binary& binary) { return OfBinary(binary); },
            [&](const Call& call) { return OfCall(call); },
            [&](const OneOf<IntLiteral, FloatLiteral, BoolLiteral, Load, Cast, Reduce> auto&) {
              return Opaque(id);
            },
        },
        module_.exprs[id]);
  }

 private:
  /// What is no polynomial; its text says which one it is.
  std::optional<Polynomial> Opaque(ExprId id) const {
    bool moves = next_ && Mentions(module_, id, {next_});
    return moves ? std::nullopt : std::optional(Atom(Print(module_, id)));
  }

  std::optional<Polynomial> OfSymbol(SymbolId id) const {
    const Symbol& symbol = module_.symbols[id];
    if (symbol.kind == SymbolKind::Const) {
      return std::nullopt;
    }
    auto multiple = symbol.multiple ? EvaluateInt(module_, symbol.multiple, {}) : std::nullopt;
    Polynomial value{{{symbol.name}, multiple.value_or(1)}};
    if (id == next_) {
      value[{}] = 1;
    }
    return value;
  }

  std::optional<Polynomial> OfUnary(ExprId id, const Unary& unary) const {
    if (unary.op != UnaryOp::Neg) {
      return Opaque(id);
    }
    auto operand = Of(unary.operand);
    return operand ? Sum({}, *operand, -1) : std::nullopt;
  }

  std::optional<Polynomial> OfBinary(const Binary& binary) const {
    auto left = Of(binary.left);
    auto right = left ? Of(binary.right) : std::nullopt;
    if (!right) {
      return std::nullopt;
    }
    switch (binary.op) {
      case BinaryOp::Add:
        return Sum(*left, *right, 1);
      case BinaryOp::Sub:
        return Sum(*left, *right, -1);
      case BinaryOp::Mul:
        return Product(*left, *right);
      case BinaryOp::Div:
        return Quotient(*left, *right, "/");
      default:
        return Atom(fmt::format("{}{}{}", Spelling(binary.op), Text(*left), Text(*right)));
    }
  }

  std::optional<Polynomial> OfCall(const Call& call) const {
    std::vector<Polynomial> args;
    for (ExprId id : call.args) {
      auto arg = Of(id);
      if (!arg) {
        return std::nullopt;
      }
      args.push_back(std::move(*arg));
    }
    if (call.op == Intrinsic::CeilDiv) {
      return Quotient(args[0], args[1], "ceildiv");
    }
    if (call.op == Intrinsic::Align) {
      return Product(Quotient(args[0], args[1], "ceildiv"), args[1]);
    }
    std::string text(Spelling(call.op));
    for (const Polynomial& arg : args) {
      text += Text(arg);
    }
    return Atom(std::move(text));
  }

  const Module& module_;
  const DimRanges& ranges_;
  SymbolId next_;
};

}  // namespace

bool SameSize(const Module& module, ExprId a, ExprId b, const DimRanges& ranges, SymbolId next) {
  if (!next && SameExpr(module, a, b, {}, [](const Load&, const Load&) { return false; })) {
    return true;
  }
  auto left = Former(module, ranges).Of(a);
  auto right = left ? Former(module, ranges, next).Of(b) : std::nullopt;
  return right && *left == *right;
}

bool IsMultiple(const Module& module, ExprId expr, int64_t divisor) {
  const DimRanges all;
  auto polynomial = Former(module, all).Of(expr);
  return polynomial && std::all_of(polynomial->begin(), polynomial->end(),
                                   [&](const auto& term) { return term.second % divisor == 0; });
}

}  // namespace etc
