#include "analysis/compiled_expr.h"

#include "ir/checked.h"
#include "ir/overloaded.h"

namespace etc {
namespace {

/// The values of all variables, for evaluation of any expression.
Env EnvOf(const Sizes& sizes, const Slots& slots) {
  Env env = sizes.dims;
  for (const auto& [symbol, slot] : slots.all()) {
    env[symbol] = slots[slot];
  }
  return env;
}

std::optional<int64_t> ToInt(std::optional<bool> condition) {
  return condition ? std::optional<int64_t>(*condition) : std::nullopt;
}

}  // namespace

class CompiledExpr::Builder {
 public:
  Builder(const Module& module, const Sizes& sizes, const Slots& slots, std::vector<Node>& nodes)
      : module_(module), sizes_(sizes), slots_(slots), nodes_(nodes) {}

  /// The number of its node.
  size_t Add(ExprId id) {
    if (auto affine = AffineOf(id)) {
      return Append({.affine = std::move(*affine)});
    }
    if (KindOf(module_, id) == ValueKind::Bool) {
      auto holds = EvaluateBool(module_, id, sizes_.dims, sizes_.ranges);
      if (holds) {
        return Append({.affine = {*holds, {}}});
      }
    }
    return std::visit([&](const auto& expr) { return Of(id, expr); }, module_.exprs[id]);
  }

 private:
  size_t Append(Node node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  size_t Other(ExprId id) { return Append({.kind = Node::Kind::Other, .id = id}); }

  bool IsInt(ExprId id) const { return KindOf(module_, id) == ValueKind::Int; }

  size_t Of(ExprId id, const Binary& binary) {
    bool joins = binary.op == BinaryOp::And || binary.op == BinaryOp::Or;
    if (!joins && !(IsInt(binary.left) && IsInt(binary.right))) {
      return Other(id);
    }
    size_t left = Add(binary.left);
    size_t right = Add(binary.right);
    return Append({.kind = Node::Kind::Binary, .op = binary.op, .operands = {left, right}});
  }

  size_t Of(ExprId id, const Unary& unary) {
    if (unary.op == UnaryOp::Neg) {
      return Other(id);
    }
    Node::Kind kind = unary.op == UnaryOp::Not ? Node::Kind::Not : Node::Kind::BitNot;
    return Append({.kind = kind, .operands = {Add(unary.operand)}});
  }

  size_t Of(ExprId id, const Call& call) {
    Node node{.function = call.op};
    switch (KindOf(call.op)) {
      case IntrinsicKind::Choice:
        node.kind = Node::Kind::Select;
        break;
      case IntrinsicKind::Number:
      case IntrinsicKind::Quotient:
        node.kind = Node::Kind::Intrinsic;
        break;
      case IntrinsicKind::Limit:
      case IntrinsicKind::Float:
        return Other(id);
    }
    for (ExprId arg : call.args) {
      node.operands.push_back(Add(arg));
    }
    return Append(std::move(node));
  }

  size_t Of(
      ExprId id,
      const OneOf<IntLiteral, FloatLiteral, BoolLiteral, SymbolRef, Load, Cast, Reduce> auto&) {
    return Other(id);
  }

  static std::optional<Affine> Sum(const Affine& a, const Affine& b, int64_t sign) {
    Affine sum = a;
    auto scaled = CheckedMul(b.constant, sign);
    auto constant = scaled ? CheckedAdd(a.constant, *scaled) : std::nullopt;
    if (!constant) {
      return std::nullopt;
    }
    sum.constant = *constant;
    for (const auto& [slot, coefficient] : b.terms) {
      auto term = CheckedMul(coefficient, sign);
      if (!term) {
        return std::nullopt;
      }
      sum.terms.emplace_back(slot, *term);
    }
    return sum;
  }

  std::optional<Affine> AffineOf(ExprId id) const {
    const Expr& expr = module_.exprs[id];
    if (const auto* literal = std::get_if<IntLiteral>(&expr)) {
      return Affine{literal->value, {}};
    }
    if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
      auto slot = slots_.all().find(ref->symbol);
      if (slot != slots_.all().end()) {
        return Affine{0, {{slot->second, 1}}};
      }
    }
    if (const auto* unary = std::get_if<Unary>(&expr); unary && unary->op == UnaryOp::Neg) {
      auto operand = AffineOf(unary->operand);
      return operand ? Sum({}, *operand, -1) : std::nullopt;
    }
    if (const auto* binary = std::get_if<Binary>(&expr)) {
      bool sum = binary->op == BinaryOp::Add || binary->op == BinaryOp::Sub;
      if (sum || binary->op == BinaryOp::Mul) {
        auto left = AffineOf(binary->left);
        auto right = left ? AffineOf(binary->right) : std::nullopt;
        if (!right || (!sum && !left->terms.empty() && !right->terms.empty())) {
          return std::nullopt;
        }
        if (sum) {
          return Sum(*left, *right, binary->op == BinaryOp::Add ? 1 : -1);
        }
        return left->terms.empty() ? Sum({}, *right, left->constant)
                                   : Sum({}, *left, right->constant);
      }
    }
    auto value = EvaluateInt(module_, id, sizes_.dims, sizes_.ranges);
    return value ? std::optional(Affine{*value, {}}) : std::nullopt;
  }

  const Module& module_;
  const Sizes& sizes_;
  const Slots& slots_;
  std::vector<Node>& nodes_;
};

CompiledExpr::CompiledExpr(const Module& module, ExprId id, const Sizes& sizes, const Slots& slots)
    : module_(&module), sizes_(&sizes) {
  if (id) {
    Builder(module, sizes, slots, nodes_).Add(id);
  }
}

std::optional<int64_t> CompiledExpr::ValueOf(const Affine& affine, const Slots& slots) const {
  std::optional<int64_t> value = affine.constant;
  for (const auto& [slot, coefficient] : affine.terms) {
    auto product = CheckedMul(slots[slot], coefficient);
    value = product ? CheckedAdd(*value, *product) : std::nullopt;
    if (!value) {
      return std::nullopt;
    }
  }
  return value;
}

std::optional<int64_t> CompiledExpr::ValueOf(const Node& node, const Slots& slots) const {
  using Kind = Node::Kind;
  if (node.kind == Kind::Sum) {
    return ValueOf(node.affine, slots);
  }
  if (node.kind == Kind::Other) {
    Env env = EnvOf(*sizes_, slots);
    return KindOf(*module_, node.id) == ValueKind::Bool
               ? ToInt(EvaluateBool(*module_, node.id, env, sizes_->ranges))
               : EvaluateInt(*module_, node.id, env, sizes_->ranges);
  }
  std::optional<int64_t> first = Operand(node, 0, slots);
  if (!first) {
    return std::nullopt;
  }
  switch (node.kind) {
    case Kind::Not:
      return *first == 0 ? 1 : 0;
    case Kind::BitNot:
      return ~*first;
    case Kind::Select:
      return Operand(node, *first != 0 ? 1 : 2, slots);
    case Kind::Binary:
      if (node.op == BinaryOp::And || node.op == BinaryOp::Or) {
        bool decided = (*first != 0) == (node.op == BinaryOp::Or);
        return decided ? first : Operand(node, 1, slots);
      }
      break;
    case Kind::Intrinsic:
    case Kind::Sum:
    case Kind::Other:
      break;
  }
  std::optional<int64_t> second = node.operands.size() > 1 ? Operand(node, 1, slots) : first;
  if (!second) {
    return std::nullopt;
  }
  if (node.kind == Kind::Intrinsic) {
    return Apply(node.function, *first, *second);
  }
  auto compared = ToInt(Compare(node.op, *first, *second));
  return compared ? compared : Apply(node.op, *first, *second);
}

}  // namespace etc
