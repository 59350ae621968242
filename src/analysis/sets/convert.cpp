#include "analysis/sets/convert.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "analysis/sets/task_scope.h"
#include "ir/overloaded.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// Whether a divisor is a constant other than 0.
bool IsDivisor(const PwAff& value) {
  if (!IsConstant(value)) {
    return false;
  }
  Set zero(isl_pw_aff_zero_set(value.copy()));
  return IsEmpty(zero);
}

}  // namespace

PwAff Converter::Int(ExprId id) {
  auto& values = unknowns_.size_values().by_id;
  if (auto known = values.find(id); known != values.end()) {
    return known->second ? *known->second : Convert(id);
  }
  std::optional<PwAff> value = OfSizes(id);
  if (!value || *value) {  // else the budget is spent, and another one may do
    values.emplace(id, value);
  }
  return value ? *value : Convert(id);
}

/// Adds what tells the expression from others; false where it is not over sizes and constants
/// alone.
bool Converter::AddForm(ExprId id, std::string& form) const {
  const Expr& expr = module_.exprs[id];
  auto add = [&](int64_t part) {
    form.append(reinterpret_cast<const char*>(&part), sizeof part);
    return true;
  };
  add(static_cast<int64_t>(expr.index()));
  return std::visit(
      Overloaded{
          [&](const OneOf<IntLiteral, BoolLiteral> auto& literal) { return add(literal.value); },
          [&](const SymbolRef& ref) {
            SymbolKind kind = module_.symbols[ref.symbol].kind;
            return add(ref.symbol.value) && (kind == SymbolKind::Dim || kind == SymbolKind::Const);
          },
          [&](const Unary& unary) {
            return add(static_cast<int64_t>(unary.op)) && AddForm(unary.operand, form);
          },
          [&](const Binary& binary) {
            return add(static_cast<int64_t>(binary.op)) && AddForm(binary.left, form) &&
                   AddForm(binary.right, form);
          },
          [&](const Call& call) {
            return add(static_cast<int64_t>(call.op)) &&
                   std::all_of(call.args.begin(), call.args.end(),
                               [&](ExprId arg) { return AddForm(arg, form); });
          },
          [](const OneOf<FloatLiteral, Load, Cast, Reduce> auto&) { return false; },
      },
      expr);
}

std::optional<PwAff> Converter::OfSizes(ExprId id) {
  std::string form;
  if (!AddForm(id, form)) {
    return std::nullopt;
  }
  auto& values = unknowns_.size_values().by_form;
  if (auto known = values.find(form); known != values.end()) {
    return known->second;
  }
  auto number = EvaluateInt(module_, id, {}, unknowns_.program().ranges);
  PwAff value = number ? unknowns_.Constant(*number) : Convert(id);
  if (value) {
    values.emplace(std::move(form), value);
  }
  return value;
}

PwAff Converter::Convert(ExprId id) {
  if (auto value = EvaluateInt(module_, id, {}, unknowns_.program().ranges)) {
    return unknowns_.Constant(*value);
  }
  return std::visit(
      [&](const auto& expr) -> PwAff {
        using T = std::decay_t<decltype(expr)>;
        if constexpr (std::is_same_v<T, IntLiteral> || std::is_same_v<T, FloatLiteral> ||
                      std::is_same_v<T, BoolLiteral>) {
          return Unknown("a value that is not an integer");
        } else {
          return Of(expr);
        }
      },
      module_.exprs[id]);
}

PwAff Converter::Of(const SymbolRef& ref) {
  auto value = values_.find(ref.symbol);
  if (value != values_.end()) {
    return value->second;
  }
  const Symbol& symbol = module_.symbols[ref.symbol];
  const Env& sizes = unknowns_.program().sizes;
  if (auto size = sizes.find(ref.symbol); size != sizes.end()) {
    return unknowns_.Constant(size->second);
  }
  if (symbol.kind == SymbolKind::Dim) {
    return unknowns_.Param(unknowns_.DimName(ref.symbol));
  }
  if (symbol.kind == SymbolKind::Value) {
    return Int(symbol.value);
  }
  return Unknown("`" + symbol.name + "`");
}

PwAff Converter::Of(const Unary& unary) {
  if (unary.op == UnaryOp::Not) {
    return Unknown("a boolean");
  }
  // ~x is -1 - x.
  return unknowns_.Constant(unary.op == UnaryOp::BitNot ? -1 : 0) - Int(unary.operand);
}

PwAff Converter::Of(const Binary& binary) {
  PwAff left = Int(binary.left);
  PwAff right = Int(binary.right);
  switch (binary.op) {
    case BinaryOp::Add:
      return left + right;
    case BinaryOp::Sub:
      return left - right;
    case BinaryOp::Mul:
      return Times(left, right);
    case BinaryOp::Div:
      return Floor(left, right);
    case BinaryOp::Mod:
      return left - Times(right, Floor(left, right));
    case BinaryOp::BitAnd:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor:
      return Bits(binary.op, left, right);
    case BinaryOp::Shl:
    case BinaryOp::Shr: {
      auto places = EvaluateInt(module_, binary.right, {}, unknowns_.program().ranges);
      if (!places || *places < 0 || *places > 62) {
        return Unknown("a shift");
      }
      PwAff power = unknowns_.Constant(int64_t{1} << *places);
      return binary.op == BinaryOp::Shl ? left * power : Floor(left, power);
    }
    default:
      return Unknown("a boolean");
  }
}

/// `x & 2^k - 1` is a remainder; of the rest, bounds are known where no operand is negative.
PwAff Converter::Bits(BinaryOp op, const PwAff& a, const PwAff& b) {
  Unknowns::Bounds right = unknowns_.BoundsOf(b);
  if (op == BinaryOp::BitAnd && right.lo && right.lo == right.hi && *right.lo > 0 &&
      *right.lo < std::numeric_limits<int32_t>::max() && (*right.lo & (*right.lo + 1)) == 0) {
    PwAff size = unknowns_.Constant(*right.lo + 1);
    return a - size * Floor(a, size);
  }
  return unknowns_.Any("a bit operation", [&](const PwAff& value) {
    PwAff zero = unknowns_.Constant(0);
    if (op == BinaryOp::BitAnd) {
      Set of_a = Lt(a, zero) | (Le(zero, value) & Le(value, a));
      Set of_b = Lt(b, zero) | (Le(zero, value) & Le(value, b));
      return of_a & of_b;
    }
    Set set = Le(zero, value) & Le(value, a + b);
    if (op == BinaryOp::BitOr) {
      set = set & Le(a, value) & Le(b, value);
    }
    return Lt(a, zero) | Lt(b, zero) | set;
  });
}

PwAff Converter::Times(const PwAff& a, const PwAff& b) {
  return IsConstant(a) || IsConstant(b) ? a * b : unknowns_.Product(a, b);
}

PwAff Converter::Floor(const PwAff& a, const PwAff& b) {
  return IsDivisor(b) ? PwAff(isl_pw_aff_floor(isl_pw_aff_div(a.copy(), b.copy())))
                      : unknowns_.Quotient(a, b);
}

PwAff Converter::Min(const PwAff& a, const PwAff& b) {
  return unknowns_.Simplify(PwAff(isl_pw_aff_min(a.copy(), b.copy())));
}

PwAff Converter::Max(const PwAff& a, const PwAff& b) {
  return unknowns_.Simplify(PwAff(isl_pw_aff_max(a.copy(), b.copy())));
}

PwAff Converter::Abs(const PwAff& a, const PwAff&) {
  PwAff negative = unknowns_.Constant(0) - a;
  return PwAff(isl_pw_aff_max(a.copy(), negative.copy()));
}

PwAff Converter::CeilDiv(const PwAff& a, const PwAff& b) {
  return IsDivisor(b) ? PwAff(isl_pw_aff_ceil(isl_pw_aff_div(a.copy(), b.copy())))
                      : unknowns_.CeilQuotient(a, b);
}

PwAff Converter::Align(const PwAff& a, const PwAff& b) { return Times(b, CeilDiv(a, b)); }

PwAff Converter::Of(const Call& call) {
  if (KindOf(call.op) == IntrinsicKind::Choice) {
    Condition yes = Where(call.args[0], true);
    if (!yes.exact) {
      return Unknown("a `select` on data");
    }
    PwAff a = Int(call.args[1]);
    PwAff b = Int(call.args[2]);
    Set no = unknowns_.All() - yes.set;
    return unknowns_.Simplify(
        PwAff(isl_pw_aff_union_add(isl_pw_aff_intersect_domain(a.copy(), yes.set.copy()),
                                   isl_pw_aff_intersect_domain(b.copy(), no.copy()))));
  }
  PwAff first = Int(call.args.front());
  PwAff last = call.args.size() > 1 ? Int(call.args.back()) : first;
  switch (call.op) {
#define ETC_INTRINSIC(name, spelling, arity, kind, value) case Intrinsic::name:
#define ETC_INT_INTRINSIC(name, spelling, arity, kind, value) \
  case Intrinsic::name:                                       \
    return name(first, last);
#include "ir/ops.def"
    break;
  }
  return Unknown("a value that is not an integer");
}

PwAff Converter::Of(const Load& load) {
  const Binding* binding = Find(load.tensor);
  const Tensor& param = module_.tensors[load.tensor];
  if (binding == nullptr && param.kind == TensorKind::Local) {
    return Unknown("the values of `%" + param.name + "`");
  }
  TensorId id = binding == nullptr ? load.tensor : binding->tensor;
  if (written_.contains(id)) {
    return Unknown("the values of `%" + param.name + "`");
  }
  std::vector<PwAff> indices = binding == nullptr ? std::vector<PwAff>{} : binding->slice;
  for (ExprId index : load.indices) {
    indices.push_back(Int(index));
  }
  size_t slice = indices.size() - load.indices.size();
  return unknowns_.Element(id, indices, PreconditionOf(param, id, indices, slice));
}

/// An argmax or argmin lies within its axis, or is the lower bound of an empty one.
PwAff Converter::Of(const Reduce& reduce) {
  if (!IsArg(reduce.op)) {
    return Unknown("a reduction");
  }
  PwAff lo = reduce.axes[0].lo ? Int(reduce.axes[0].lo) : unknowns_.Constant(0);
  PwAff hi = Int(reduce.axes[0].hi);
  return unknowns_.Any("an `" + std::string(Spelling(reduce.op)) + "`", [&](const PwAff& value) {
    return Eq(value, lo) | (Le(lo, value) & Lt(value, hi));
  });
}

PwAff Converter::Of(const Cast& cast) {
  auto range = RangeOfType(cast.type);
  if (KindOf(module_, cast.operand) != ValueKind::Int || KindOf(cast.type) != ValueKind::Int) {
    return range ? Within("a cast", *range) : Unknown("a cast");
  }
  PwAff operand = Int(cast.operand);
  if (!range) {
    return operand;
  }
  Unknowns::Bounds bounds = unknowns_.BoundsOf(operand);
  bool fits = bounds.lo && bounds.hi && *bounds.lo >= range->lo && *bounds.hi <= range->hi;
  return fits ? operand : Within("a cast", *range);
}

/// An unknown value in a range, both ends included.
PwAff Converter::Within(const std::string& text, Interval range) {
  return unknowns_.Any(text, [&](const PwAff& value) {
    return Le(unknowns_.Constant(range.lo), value) & Le(value, unknowns_.Constant(range.hi));
  });
}

PwAff Converter::Unknown(const std::string& text) {
  return unknowns_.Any(text, [&](const PwAff&) { return unknowns_.All(); });
}

Converter::Condition Converter::Where(ExprId id, bool wanted) {
  if (auto value = EvaluateBool(module_, id, {}, unknowns_.program().ranges)) {
    Set all = unknowns_.All();
    return {*value == wanted ? all : all - all, true};
  }
  const Expr& expr = module_.exprs[id];
  if (const auto* unary = std::get_if<Unary>(&expr); unary && unary->op == UnaryOp::Not) {
    return Where(unary->operand, !wanted);
  }
  if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
    auto let = lets_.find(ref->symbol);
    return let == lets_.end() ? Condition{unknowns_.All(), false} : Where(let->second, wanted);
  }
  const auto* binary = std::get_if<Binary>(&expr);
  if (binary == nullptr) {
    return {unknowns_.All(), false};
  }
  if (binary->op == BinaryOp::And || binary->op == BinaryOp::Or) {
    Condition left = Where(binary->left, wanted);
    Condition right = Where(binary->right, wanted);
    bool both = (binary->op == BinaryOp::And) == wanted;
    return {both ? left.set & right.set : left.set | right.set, left.exact && right.exact};
  }
  return Compare(*binary, wanted);
}

Converter::Condition Converter::Compare(const Binary& binary, bool wanted) {
  if (KindOf(module_, binary.left) != ValueKind::Int ||
      KindOf(module_, binary.right) != ValueKind::Int) {
    return {unknowns_.All(), false};
  }
  PwAff left = Int(binary.left);
  PwAff right = Int(binary.right);
  switch (binary.op) {
    case BinaryOp::Eq:
      return {wanted ? Eq(left, right) : Ne(left, right)};
    case BinaryOp::Ne:
      return {wanted ? Ne(left, right) : Eq(left, right)};
    case BinaryOp::Lt:
      return {wanted ? Lt(left, right) : Le(right, left)};
    case BinaryOp::Le:
      return {wanted ? Le(left, right) : Lt(right, left)};
    case BinaryOp::Gt:
      return {wanted ? Lt(right, left) : Le(left, right)};
    case BinaryOp::Ge:
      return {wanted ? Le(right, left) : Lt(left, right)};
    default:
      return {unknowns_.All(), false};
  }
}

}  // namespace etc
