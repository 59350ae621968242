#include "emit/manifest_expr.h"

#include <algorithm>

#include "support/diagnostics.h"

namespace etc {
namespace {

/// Adds the operands of `op`, however it is nested: `((a + b) + c)` has three.
void AddOperands(const Json& expr, const Json& op, std::vector<Json>& operands) {
  if (!expr.is_array() || expr[0] != op) {
    operands.push_back(expr);
    return;
  }
  for (size_t i = 1; i < expr.size(); ++i) {
    AddOperands(expr[i], op, operands);
  }
}

}  // namespace

Json Folded(const char* op, Json a, Json b) {
  if (a.is_number_integer() && b.is_number_integer()) {
    auto x = a.get<int64_t>(), y = b.get<int64_t>();
    switch (op[0]) {
      case '+':
        return x + y;
      case '-':
        return x - y;
      case '*':
        return x * y;
      case '/':
        return x / y;
      case 'm':
        return std::max(x, y);
    }
  }
  return Json::array({op, std::move(a), std::move(b)});
}

Json Balanced(const Json& expr) {
  if (!expr.is_array()) {
    return expr;
  }
  const Json& op = expr[0];
  if (op != "+" && op != "max") {
    Json out = Json::array({op});
    for (size_t i = 1; i < expr.size(); ++i) {
      out.push_back(Balanced(expr[i]));
    }
    return out;
  }
  std::vector<Json> operands;
  AddOperands(expr, op, operands);
  for (Json& operand : operands) {
    operand = Balanced(operand);
  }
  while (operands.size() > 1) {
    std::vector<Json> pairs;
    for (size_t i = 0; i < operands.size(); i += 2) {
      pairs.push_back(i + 1 < operands.size() ? Json{op, operands[i], operands[i + 1]}
                                              : operands[i]);
    }
    operands = std::move(pairs);
  }
  return operands[0];
}

Json ManifestExprs::Condition(ExprId id) const {
  auto value = EvaluateBool(module_, id, {}, ranges_);
  return value ? Json(*value ? 1 : 0) : Expr(id);
}

Json ManifestExprs::Operand(ExprId id) const {
  return KindOf(module_, id) == ValueKind::Bool ? Condition(id) : Expr(id);
}

Json ManifestExprs::Expr(ExprId id) const {
  if (auto value = EvaluateInt(module_, id, {}, ranges_)) {
    return *value;
  }
  struct Visitor {
    const ManifestExprs& writer;
    Json operator()(const SymbolRef& e) const {
      const Symbol& symbol = writer.module_.symbols[e.symbol];
      return symbol.kind == SymbolKind::Value ? writer.Expr(symbol.value) : Json(symbol.name);
    }
    Json operator()(const Unary& e) const {
      if (e.op == UnaryOp::Not) {
        return Json::array({"==", writer.Condition(e.operand), 0});
      }
      return Json::array({"-", e.op == UnaryOp::BitNot ? -1 : 0, writer.Expr(e.operand)});
    }
    Json operator()(const Binary& e) const {
      return Json::array({Spelling(e.op), writer.Operand(e.left), writer.Operand(e.right)});
    }
    Json operator()(const Call& e) const {
      if (KindOf(e.op) == IntrinsicKind::Choice) {
        if (auto first = EvaluateBool(writer.module_, e.args[0], {}, writer.ranges_)) {
          return writer.Operand(e.args[*first ? 1 : 2]);
        }
      }
      if (e.op == Intrinsic::Abs) {
        Json operand = writer.Expr(e.args[0]);
        return Json::array({"max", operand, Json::array({"-", 0, operand})});
      }
      Json out = Json::array({Spelling(e.op)});
      for (ExprId arg : e.args) {
        out.push_back(writer.Operand(arg));
      }
      return out;
    }
    // Literals evaluate; the verifier keeps the rest out of shapes and sizes.
    Json operator()(const IntLiteral&) const { return Unexpected(); }
    Json operator()(const FloatLiteral&) const { return Unexpected(); }
    Json operator()(const BoolLiteral&) const { return Unexpected(); }
    Json operator()(const Load&) const { return Unexpected(); }
    Json operator()(const Cast&) const { return Unexpected(); }
    Json operator()(const Reduce&) const { return Unexpected(); }
    [[noreturn]] static Json Unexpected() {
      InternalError(__FILE__, __LINE__, "an expression that a manifest cannot hold");
    }
  };
  return std::visit(Visitor{*this}, module_.exprs[id]);
}

Json ManifestExprs::EndOf(const RaisedPlace& place) const {
  Json size = place.unit;
  for (ExprId extent : place.extents) {
    size = Folded("*", size, Expr(extent));
  }
  if (place.places) {
    size = Folded("+", size, Json::array({"ceildiv", Expr(place.places), kPlacesPerCounter}));
  }
  size = Folded("*", size, ProductOf(place.iterations));
  return Folded("+", Expr(place.first), size);
}

Json ManifestExprs::ProductOf(const std::vector<Axis>& axes) const {
  Json product = 1;
  for (const Axis& axis : axes) {
    Json extent = axis.lo ? Folded("-", Expr(axis.hi), Expr(axis.lo)) : Expr(axis.hi);
    product = Folded("*", product, extent);
  }
  return product;
}

}  // namespace etc
