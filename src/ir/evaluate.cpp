#include "ir/evaluate.h"

#include <cmath>

#include "ir/checked.h"
#include "ir/overloaded.h"

namespace etc {
namespace {

/// Deeper than any expression that the parser accepts; only long chains of constants get here.
constexpr int kMaxDepth = 5000;

template <class T>
std::optional<bool> CompareBoth(BinaryOp op, std::optional<T> left, std::optional<T> right) {
  if (!left || !right) {
    return std::nullopt;
  }
  switch (op) {
    case BinaryOp::Eq:
      return *left == *right;
    case BinaryOp::Ne:
      return *left != *right;
    case BinaryOp::Lt:
      return *left < *right;
    case BinaryOp::Le:
      return *left <= *right;
    case BinaryOp::Gt:
      return *left > *right;
    case BinaryOp::Ge:
      return *left >= *right;
    default:
      return std::nullopt;
  }
}

/// Evaluates the expressions of one query.
class Evaluator {
 public:
  Evaluator(const Module& module, const Env& env, const DimRanges& ranges)
      : module_(module), env_(env), ranges_(ranges) {}

  std::optional<int64_t> Int(ExprId id) {
    if (depth_ >= kMaxDepth) {
      return std::nullopt;
    }
    ++depth_;
    auto value = std::visit([this](const auto& expr) { return IntOf(expr); }, module_.exprs[id]);
    --depth_;
    return value;
  }

  std::optional<double> Float(ExprId id) {
    if (depth_ >= kMaxDepth) {
      return std::nullopt;
    }
    ++depth_;
    auto value = std::visit([this](const auto& expr) { return FloatOf(expr); }, module_.exprs[id]);
    --depth_;
    if (!value && KindOf(module_, id) == ValueKind::Int) {
      std::optional<int64_t> integer = Int(id);
      return integer ? std::optional<double>(*integer) : std::nullopt;
    }
    return value;
  }

  std::optional<bool> Bool(ExprId id) {
    if (depth_ >= kMaxDepth) {
      return std::nullopt;
    }
    ++depth_;
    auto value = std::visit([this](const auto& expr) { return BoolOf(expr); }, module_.exprs[id]);
    --depth_;
    return value;
  }

  std::optional<Interval> Range(SymbolId dim) {
    auto narrowed = ranges_.find(dim);
    if (narrowed != ranges_.end()) {
      return narrowed->second;
    }
    const Symbol& symbol = module_.symbols[dim];
    if (symbol.kind != SymbolKind::Dim) {
      return std::nullopt;
    }
    std::optional<int64_t> lo = Int(symbol.lo);
    std::optional<int64_t> hi = Int(symbol.hi);
    return lo && hi ? std::optional(Interval{*lo, *hi}) : std::nullopt;
  }

 private:
  // What has no value of a kind, or none that is known before a launch.
  static std::optional<int64_t> IntOf(const OneOf<FloatLiteral, BoolLiteral, Load, Reduce> auto&) {
    return std::nullopt;
  }
  static std::optional<double> FloatOf(const OneOf<IntLiteral, BoolLiteral, Load, Reduce> auto&) {
    return std::nullopt;
  }
  static std::optional<bool> BoolOf(const OneOf<IntLiteral, FloatLiteral, Load, Reduce> auto&) {
    return std::nullopt;
  }

  std::optional<int64_t> IntOf(const IntLiteral& literal) { return literal.value; }

  std::optional<int64_t> IntOf(const SymbolRef& ref) {
    const Symbol& symbol = module_.symbols[ref.symbol];
    if (!NamesExpr(symbol)) {
      auto found = env_.find(ref.symbol);
      return found != env_.end() ? std::optional(found->second) : std::nullopt;
    }
    if (const auto* literal = std::get_if<IntLiteral>(&module_.exprs[symbol.value])) {
      return literal->value;
    }
    auto [found, is_new] = constants_.emplace(ref.symbol, std::nullopt);
    if (is_new) {
      std::optional<int64_t> value = Int(symbol.value);
      constants_[ref.symbol] = value;
      return value;
    }
    return found->second;
  }

  std::optional<int64_t> IntOf(const Cast& cast) {
    std::optional<int64_t> value;
    switch (KindOf(module_, cast.operand)) {
      case ValueKind::Int:
        value = Int(cast.operand);
        break;
      case ValueKind::Float:
      case ValueKind::Double: {
        std::optional<double> number = Float(cast.operand);
        Interval range = RangeOfType(cast.type).value_or(
            Interval{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()});
        return number && KindOf(cast.type) == ValueKind::Int
                   ? std::optional(SaturatingInt(*number, range.lo, range.hi))
                   : std::nullopt;
      }
      case ValueKind::Bool:
        value = Bool(cast.operand);
        break;
      case ValueKind::Error:
        break;
    }
    if (!value) {
      return std::nullopt;
    }
    if (KindOf(cast.type) != ValueKind::Int) {
      return std::nullopt;
    }
    std::optional<Interval> range = RangeOfType(cast.type);
    return !range || (range->lo <= *value && *value <= range->hi) ? value : std::nullopt;
  }

  std::optional<int64_t> IntOf(const Unary& unary) {
    std::optional<int64_t> value = Int(unary.operand);
    if (value && unary.op == UnaryOp::BitNot) {
      return ~*value;
    }
    return unary.op == UnaryOp::Neg && value ? CheckedSub(0, *value) : std::nullopt;
  }

  std::optional<int64_t> IntOf(const Binary& binary) {
    std::optional<int64_t> left = Int(binary.left);
    std::optional<int64_t> right = left ? Int(binary.right) : std::nullopt;
    if (!right) {
      return std::nullopt;
    }
    return Apply(binary.op, *left, *right);
  }

  std::optional<int64_t> IntOf(const Call& call) {
    if (static_cast<int>(call.args.size()) != Arity(call.op)) {
      return std::nullopt;
    }
    switch (KindOf(call.op)) {
      case IntrinsicKind::Limit: {
        const auto* dim = std::get_if<SymbolRef>(&module_.exprs[call.args[0]]);
        std::optional<Interval> range = dim != nullptr ? Range(dim->symbol) : std::nullopt;
        if (!range) {
          return std::nullopt;
        }
        return call.op == Intrinsic::Lower ? range->lo : range->hi;
      }
      case IntrinsicKind::Choice: {
        std::optional<bool> condition = Bool(call.args[0]);
        return condition ? Int(call.args[*condition ? 1 : 2]) : std::nullopt;
      }
      case IntrinsicKind::Number:
      case IntrinsicKind::Quotient: {
        std::optional<int64_t> first = Int(call.args[0]);
        std::optional<int64_t> second = first && call.args.size() == 2 ? Int(call.args[1]) : first;
        return first && second ? Apply(call.op, *first, *second) : std::nullopt;
      }
      case IntrinsicKind::Float:
        break;
    }
    return std::nullopt;
  }

  std::optional<double> FloatOf(const FloatLiteral& literal) { return literal.value; }

  std::optional<double> FloatOf(const SymbolRef& ref) {
    const Symbol& symbol = module_.symbols[ref.symbol];
    if (!NamesExpr(symbol)) {
      return std::nullopt;
    }
    auto [found, is_new] = float_constants_.emplace(ref.symbol, std::nullopt);
    if (is_new) {
      std::optional<double> value = Float(symbol.value);
      float_constants_[ref.symbol] = value;
      return value;
    }
    return found->second;
  }

  std::optional<double> FloatOf(const Cast& cast) {
    std::optional<double> value;
    if (cast.type == DType::F32 || cast.type == DType::F64) {
      value = Float(cast.operand);
    }
    if (value && cast.type == DType::F32) {
      return FitsFloat(*value) ? std::optional<double>(static_cast<float>(*value)) : std::nullopt;
    }
    return value;
  }

  std::optional<double> FloatOf(const Unary& unary) {
    std::optional<double> value = Float(unary.operand);
    return unary.op == UnaryOp::Neg && value ? std::optional(-*value) : std::nullopt;
  }

  std::optional<double> FloatOf(const Binary& binary) {
    if (KindOf(module_, binary.left) == ValueKind::Int &&
        KindOf(module_, binary.right) == ValueKind::Int) {
      return std::nullopt;  // integer arithmetic: its own rounding holds
    }
    std::optional<double> left = Float(binary.left);
    std::optional<double> right = left ? Float(binary.right) : std::nullopt;
    if (!right) {
      return std::nullopt;
    }
    switch (binary.op) {
      case BinaryOp::Add:
        return Number(*left + *right, *left, *right);
      case BinaryOp::Sub:
        return Number(*left - *right, *left, *right);
      case BinaryOp::Mul:
        return Number(*left * *right, *left, *right);
      case BinaryOp::Div:
        return *right != 0 ? Number(*left / *right, *left, *right) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  /// A value that is made of two; nothing where it is none, or too large for 64 bits.
  static std::optional<double> Number(double value, double x, double y) {
    bool fits = std::isfinite(value) || (std::isinf(value) && (std::isinf(x) || std::isinf(y)));
    return fits ? std::optional(value) : std::nullopt;
  }

  std::optional<double> FloatOf(const Call& call) {
    if (static_cast<int>(call.args.size()) != Arity(call.op)) {
      return std::nullopt;
    }
    if (KindOf(call.op) == IntrinsicKind::Choice) {
      std::optional<bool> condition = Bool(call.args[0]);
      return condition ? Float(call.args[*condition ? 1 : 2]) : std::nullopt;
    }
    std::optional<double> x = Float(call.args[0]);
    std::optional<double> y = x && call.args.size() == 2 ? Float(call.args[1]) : x;
    if (!x || !y) {
      return std::nullopt;
    }
    std::optional<double> value = FloatOf(call.op, *x, *y);
    return value ? Number(*value, *x, *y) : std::nullopt;
  }

  static std::optional<double> FloatOf(Intrinsic op, double a, [[maybe_unused]] double b) {
    switch (op) {
#define ETC_INTRINSIC(name, spelling, arity, kind, value) \
  case Intrinsic::name:                                   \
    return value;
#include "ir/ops.def"
    }
    return std::nullopt;
  }

  std::optional<bool> BoolOf(const BoolLiteral& literal) { return literal.value; }

  std::optional<bool> BoolOf(const SymbolRef& ref) {
    const Symbol& symbol = module_.symbols[ref.symbol];
    return NamesExpr(symbol) ? Bool(symbol.value) : std::nullopt;
  }

  std::optional<bool> BoolOf(const Cast& cast) {
    if (cast.type != DType::Bool) {
      return std::nullopt;
    }
    if (KindOf(module_, cast.operand) == ValueKind::Bool) {
      return Bool(cast.operand);
    }
    std::optional<double> value = Float(cast.operand);
    return value ? std::optional(*value != 0) : std::nullopt;
  }

  std::optional<bool> BoolOf(const Unary& unary) {
    std::optional<bool> value = Bool(unary.operand);
    return unary.op == UnaryOp::Not && value ? std::optional(!*value) : std::nullopt;
  }

  std::optional<bool> BoolOf(const Call& call) {
    if (static_cast<int>(call.args.size()) != Arity(call.op)) {
      return std::nullopt;
    }
    if (KindOf(call.op) != IntrinsicKind::Choice) {
      return std::nullopt;
    }
    std::optional<bool> condition = Bool(call.args[0]);
    return condition ? Bool(call.args[*condition ? 1 : 2]) : std::nullopt;
  }

  std::optional<bool> BoolOf(const Binary& binary) {
    if (binary.op == BinaryOp::Or || binary.op == BinaryOp::And) {
      std::optional<bool> left = Bool(binary.left);
      bool decided_by = binary.op == BinaryOp::Or;
      return left && *left != decided_by ? Bool(binary.right) : left;
    }
    ValueKind left = KindOf(module_, binary.left);
    ValueKind right = KindOf(module_, binary.right);
    if (left == ValueKind::Bool || right == ValueKind::Bool) {
      return CompareBoth(binary.op, Bool(binary.left), Bool(binary.right));
    }
    if (left == ValueKind::Int && right == ValueKind::Int) {
      return CompareBoth(binary.op, Int(binary.left), Int(binary.right));
    }
    return CompareBoth(binary.op, Float(binary.left), Float(binary.right));
  }

  const Module& module_;
  const Env& env_;
  const DimRanges& ranges_;
  std::map<SymbolId, std::optional<int64_t>> constants_;
  std::map<SymbolId, std::optional<double>> float_constants_;
  int depth_ = 0;
};

}  // namespace

std::optional<bool> Compare(BinaryOp op, int64_t a, int64_t b) {
  return CompareBoth(op, std::optional(a), std::optional(b));
}

std::optional<int64_t> EvaluateInt(const Module& module, ExprId expr, const Env& env,
                                   const DimRanges& ranges) {
  return Evaluator(module, env, ranges).Int(expr);
}

std::optional<double> EvaluateFloat(const Module& module, ExprId expr, const Env& env,
                                    const DimRanges& ranges) {
  return Evaluator(module, env, ranges).Float(expr);
}

std::optional<bool> EvaluateBool(const Module& module, ExprId expr, const Env& env,
                                 const DimRanges& ranges) {
  return Evaluator(module, env, ranges).Bool(expr);
}

std::optional<Interval> RangeOfDim(const Module& module, SymbolId dim, const DimRanges& ranges) {
  const Env none;
  return Evaluator(module, none, ranges).Range(dim);
}

}  // namespace etc
