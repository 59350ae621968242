#include "analysis/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "ir/checked.h"
#include "ir/evaluate.h"
#include "ir/printer.h"

namespace etc {
namespace {

/// A sum of products: sorted atoms (texts) to their coefficient; no zero coefficients.
using Monomial = std::vector<std::string>;
using Polynomial = std::map<Monomial, int64_t>;

std::optional<Polynomial> Of(const Module& module, ExprId id);

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

Polynomial OfDim(const Module& module, const Symbol& symbol) {
  auto multiple = symbol.multiple ? EvaluateInt(module, symbol.multiple, {}) : std::nullopt;
  return {{{symbol.name}, multiple.value_or(1)}};
}

std::optional<Polynomial> OfBinary(const Module& module, const Binary& binary) {
  auto left = Of(module, binary.left);
  auto right = left ? Of(module, binary.right) : std::nullopt;
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

std::optional<Polynomial> OfCall(const Module& module, const Call& call) {
  std::vector<Polynomial> args;
  for (ExprId id : call.args) {
    auto arg = Of(module, id);
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

std::optional<Polynomial> Of(const Module& module, ExprId id) {
  if (auto value = EvaluateInt(module, id, {})) {
    return *value == 0 ? Polynomial{} : Polynomial{{{}, *value}};
  }
  const Expr& expr = module.exprs[id];
  if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
    const Symbol& symbol = module.symbols[ref->symbol];
    return symbol.kind == SymbolKind::Const ? std::nullopt : std::optional(OfDim(module, symbol));
  }
  if (const auto* unary = std::get_if<Unary>(&expr); unary && unary->op == UnaryOp::Neg) {
    auto operand = Of(module, unary->operand);
    return operand ? Sum({}, *operand, -1) : std::nullopt;
  }
  if (const auto* binary = std::get_if<Binary>(&expr)) {
    return OfBinary(module, *binary);
  }
  if (const auto* call = std::get_if<Call>(&expr)) {
    return OfCall(module, *call);
  }
  return Atom(Print(module, id));
}

}  // namespace

bool SameSize(const Module& module, ExprId a, ExprId b) {
  if (a == b) {
    return true;
  }
  auto left = Of(module, a);
  auto right = left ? Of(module, b) : std::nullopt;
  return right && *left == *right;
}

bool IsMultiple(const Module& module, ExprId expr, int64_t divisor) {
  auto polynomial = Of(module, expr);
  return polynomial && std::all_of(polynomial->begin(), polynomial->end(),
                                   [&](const auto& term) { return term.second % divisor == 0; });
}

}  // namespace etc
