#include <algorithm>
#include <bit>
#include <limits>

#include "ir/checked.h"
#include "ir/evaluate.h"
#include "ir/overloaded.h"

namespace etc {
namespace {

using Result = std::optional<Interval>;

template <class F>
Result Corners(Interval a, Interval b, F apply) {
  Result result;
  for (int64_t x : {a.lo, a.hi}) {
    for (int64_t y : {b.lo, b.hi}) {
      std::optional<int64_t> value = apply(x, y);
      if (!value) {
        return std::nullopt;
      }
      result = result ? Interval{std::min(result->lo, *value), std::max(result->hi, *value)}
                      : Interval{*value, *value};
    }
  }
  return result;
}

/// Interval arithmetic. A constant expression is evaluated first, so what remains has a variable.
class Bounder {
 public:
  Bounder(const Module& module, std::map<SymbolId, Interval> intervals, const DimRanges& ranges)
      : module_(module), intervals_(std::move(intervals)), ranges_(ranges) {}

  Result Of(ExprId id) {
    return std::visit([this](const auto& expr) { return BoundsOf(expr); }, module_.exprs[id]);
  }

  /// A condition that has the same value everywhere.
  std::optional<bool> Decide(ExprId id) {
    if (std::optional<bool> constant = EvaluateBool(module_, id, {}, ranges_)) {
      return constant;
    }
    if (const auto* unary = std::get_if<Unary>(&module_.exprs[id])) {
      return unary->op == UnaryOp::Not ? Negate(Decide(unary->operand)) : std::nullopt;
    }
    const auto* binary = std::get_if<Binary>(&module_.exprs[id]);
    if (binary == nullptr) {
      return std::nullopt;
    }
    if (binary->op == BinaryOp::And || binary->op == BinaryOp::Or) {
      return Join(Decide(binary->left), Decide(binary->right), binary->op == BinaryOp::Or);
    }
    Result left = Of(binary->left);
    Result right = left ? Of(binary->right) : std::nullopt;
    if (!right) {
      return std::nullopt;
    }
    switch (binary->op) {
      case BinaryOp::Lt:
        return Less(*left, *right);
      case BinaryOp::Gt:
        return Less(*right, *left);
      case BinaryOp::Ge:
        return Negate(Less(*left, *right));
      case BinaryOp::Le:
        return Negate(Less(*right, *left));
      case BinaryOp::Eq:
        return Equal(*left, *right);
      case BinaryOp::Ne:
        return Negate(Equal(*left, *right));
      default:
        return std::nullopt;
    }
  }

 private:
  static Result BoundsOf(const OneOf<FloatLiteral, BoolLiteral> auto&) { return std::nullopt; }
  Result BoundsOf(const IntLiteral& literal) { return Interval{literal.value, literal.value}; }

  Result BoundsOf(const SymbolRef& ref) {
    auto found = intervals_.find(ref.symbol);
    if (found != intervals_.end()) {
      return found->second;
    }
    const Symbol& symbol = module_.symbols[ref.symbol];
    if (symbol.kind == SymbolKind::Dim) {
      return RangeOfDim(module_, ref.symbol, ranges_);
    }
    if (symbol.kind == SymbolKind::Scalar && symbol.lo) {
      Result lo = Of(symbol.lo), hi = Of(symbol.hi);
      return lo && hi && lo->lo < hi->hi ? Result(Interval{lo->lo, hi->hi - 1}) : std::nullopt;
    }
    if (symbol.kind != SymbolKind::Const && NamesExpr(symbol)) {
      return Of(symbol.value);
    }
    if (symbol.kind == SymbolKind::Const) {
      std::optional<int64_t> value = EvaluateInt(module_, symbol.value, {}, ranges_);
      return value ? Result(Interval{*value, *value}) : std::nullopt;
    }
    return std::nullopt;
  }

  Result BoundsOf(const Load& load) {
    const Tensor& tensor = module_.tensors[load.tensor];
    bool promised = tensor.kind == TensorKind::Param && tensor.access == Access::In;
    if (promised && tensor.value_lo && tensor.value_hi) {
      Result lo = Of(tensor.value_lo);
      Result hi = Of(tensor.value_hi);
      return lo && hi && lo->lo < hi->hi ? Result(Interval{lo->lo, hi->hi - 1}) : std::nullopt;
    }
    return RangeOfType(tensor.type);
  }

  Result BoundsOf(const Cast& cast) {
    Result type = RangeOfType(cast.type);
    Result operand = Of(cast.operand);
    if (!operand || (type && operand->lo >= type->lo && operand->hi <= type->hi)) {
      return operand ? operand : type;
    }
    return cast.type == DType::I64 ? operand : type;
  }

  Result BoundsOf(const Unary& unary) {
    Result operand = unary.op == UnaryOp::Not ? std::nullopt : Of(unary.operand);
    int64_t from = unary.op == UnaryOp::BitNot ? -1 : 0;  // ~x is -1 - x
    return operand ? Subtract({from, from}, *operand) : std::nullopt;
  }

  Result BoundsOf(const Binary& binary) {
    Result left = Of(binary.left);
    if (!left && binary.op != BinaryOp::Mod && binary.op != BinaryOp::BitAnd) {
      return std::nullopt;
    }
    Result right = Of(binary.right);
    if (!left && right && right->lo >= (binary.op == BinaryOp::Mod ? 1 : 0)) {
      return Interval{0, right->hi - (binary.op == BinaryOp::Mod ? 1 : 0)};
    }
    if (!left || !right) {
      return std::nullopt;
    }
    switch (binary.op) {
      case BinaryOp::Add:
        return Add(*left, *right);
      case BinaryOp::Sub:
        return Subtract(*left, *right);
      case BinaryOp::Mul:
        return Corners(*left, *right, CheckedMul);
      case BinaryOp::Div:
        return Divide(*left, *right, CheckedFloorDiv);
      case BinaryOp::Mod:
        return Modulo(*left, *right);
      case BinaryOp::BitAnd:
        return And(*left, *right);
      case BinaryOp::BitOr:
      case BinaryOp::BitXor:
        return Join(binary.op, *left, *right);
      case BinaryOp::Shl:
        return Corners(*left, *right, CheckedShiftLeft);
      case BinaryOp::Shr:
        return Corners(*left, *right, CheckedShiftRight);
      default:
        return std::nullopt;
    }
  }

  Result BoundsOf(const Call& call) {
    if (static_cast<int>(call.args.size()) != Arity(call.op)) {
      return std::nullopt;
    }
    switch (KindOf(call.op)) {
      case IntrinsicKind::Limit: {
        const auto* dim = std::get_if<SymbolRef>(&module_.exprs[call.args[0]]);
        Result range = dim != nullptr ? RangeOfDim(module_, dim->symbol, ranges_) : std::nullopt;
        int64_t value = range ? (call.op == Intrinsic::Lower ? range->lo : range->hi) : 0;
        return range ? Result(Interval{value, value}) : std::nullopt;
      }
      case IntrinsicKind::Choice:
        return Select(call);
      case IntrinsicKind::Number:
      case IntrinsicKind::Quotient: {
        Result first = Of(call.args[0]);
        Result second = first && call.args.size() == 2 ? Of(call.args[1]) : first;
        return first && second ? Apply(call.op, *first, *second) : std::nullopt;
      }
      case IntrinsicKind::Float:
        break;
    }
    return std::nullopt;
  }

  static Result Apply(Intrinsic op, Interval a, Interval b) {
    switch (op) {
#define ETC_INTRINSIC(name, spelling, arity, kind, value) case Intrinsic::name:
#define ETC_INT_INTRINSIC(name, spelling, arity, kind, value) \
  case Intrinsic::name:                                       \
    return name(a, b);
#include "ir/ops.def"
      break;
    }
    return std::nullopt;
  }

  static Result Min(Interval a, Interval b) {
    return Interval{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  }

  static Result Max(Interval a, Interval b) {
    return Interval{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  }

  static Result Abs(Interval a, Interval) {
    if (a.lo == std::numeric_limits<int64_t>::min()) {
      return std::nullopt;
    }
    int64_t most = std::max(-a.lo, a.hi);
    return Interval{a.lo > 0 ? a.lo : (a.hi < 0 ? -a.hi : 0), std::max(most, -a.lo)};
  }

  static Result CeilDiv(Interval a, Interval b) { return Divide(a, b, CheckedCeilDiv); }

  /// At least the value, and less than one alignment above it.
  static Result Align(Interval a, Interval b) {
    if (b.lo < 1) {
      return std::nullopt;
    }
    return b.lo == b.hi ? Divide(a, b, CheckedAlign) : Add(a, {0, b.hi - 1});
  }

  Result BoundsOf(const Reduce& reduce) {
    if (!IsArg(reduce.op)) {
      return std::nullopt;
    }
    Result lo = reduce.axes[0].lo ? Of(reduce.axes[0].lo) : Result(Interval{0, 0});
    Result hi = Of(reduce.axes[0].hi);
    if (!lo || !hi || hi->hi == std::numeric_limits<int64_t>::min()) {
      return std::nullopt;
    }
    return Interval{lo->lo, std::max(lo->hi, hi->hi - 1)};
  }

  static Result Add(Interval a, Interval b) {
    std::optional<int64_t> lo = CheckedAdd(a.lo, b.lo);
    std::optional<int64_t> hi = CheckedAdd(a.hi, b.hi);
    return lo && hi ? Result(Interval{*lo, *hi}) : std::nullopt;
  }

  static Result Subtract(Interval a, Interval b) {
    std::optional<int64_t> lo = CheckedSub(a.lo, b.hi);
    std::optional<int64_t> hi = CheckedSub(a.hi, b.lo);
    return lo && hi ? Result(Interval{*lo, *hi}) : std::nullopt;
  }

  template <class F>
  static Result Divide(Interval a, Interval b, F apply) {
    // Between two divisors of one sign the quotient is monotonic in each operand.
    return b.lo > 0 || b.hi < 0 ? Corners(a, b, apply) : std::nullopt;
  }

  static Result Modulo(Interval a, Interval b) {
    if (b.lo < 1) {
      return std::nullopt;
    }
    if (b.lo == b.hi) {
      std::optional<int64_t> first = CheckedFloorDiv(a.lo, b.lo);
      std::optional<int64_t> last = CheckedFloorDiv(a.hi, b.lo);
      if (first == last) {
        return Interval{*CheckedFloorMod(a.lo, b.lo), *CheckedFloorMod(a.hi, b.lo)};
      }
    }
    return Interval{0, a.lo >= 0 ? std::min(a.hi, b.hi - 1) : b.hi - 1};
  }

  /// No more than an operand that is not negative.
  static Result And(Interval a, Interval b) {
    if (a.lo < 0 && b.lo < 0) {
      return std::nullopt;
    }
    return Interval{0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : std::min(a.hi, b.hi)};
  }

  /// Of `|` and `^`: below the power of two that is above both.
  static Result Join(BinaryOp op, Interval a, Interval b) {
    if (a.lo < 0 || b.lo < 0) {
      return std::nullopt;
    }
    auto bits = std::bit_width(static_cast<uint64_t>(std::max(a.hi, b.hi)));
    auto hi = static_cast<int64_t>((uint64_t{1} << bits) - 1);
    return Interval{op == BinaryOp::BitOr ? std::max(a.lo, b.lo) : 0, hi};
  }

  Result Select(const Call& call) {
    std::optional<bool> condition = Decide(call.args[0]);
    if (condition) {
      return Of(call.args[*condition ? 1 : 2]);
    }
    Result yes = Of(call.args[1]);
    Result no = yes ? Of(call.args[2]) : std::nullopt;
    return no ? Result(Interval{std::min(yes->lo, no->lo), std::max(yes->hi, no->hi)})
              : std::nullopt;
  }

  static std::optional<bool> Less(Interval a, Interval b) {
    if (a.hi < b.lo) {
      return true;
    }
    return a.lo >= b.hi ? std::optional(false) : std::nullopt;
  }

  static std::optional<bool> Equal(Interval a, Interval b) {
    if (a.hi < b.lo || b.hi < a.lo) {
      return false;
    }
    return a.lo == a.hi && b.lo == b.hi ? std::optional(true) : std::nullopt;
  }

  /// Of `||`, which a true side decides, or of `&&`, which a false one does.
  static std::optional<bool> Join(std::optional<bool> a, std::optional<bool> b, bool decides) {
    if (a == decides || b == decides) {
      return decides;
    }
    return a && b ? std::optional(!decides) : std::nullopt;
  }

  static std::optional<bool> Negate(std::optional<bool> value) {
    return value ? std::optional(!*value) : std::nullopt;
  }

  const Module& module_;
  const std::map<SymbolId, Interval> intervals_;
  const DimRanges& ranges_;
};

}  // namespace

std::optional<Interval> RangeOfType(DType type) {
  switch (type) {
    case DType::I32:
      return Interval{std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case DType::U32:
      return Interval{0, std::numeric_limits<uint32_t>::max()};
    case DType::U16:
      return Interval{0, std::numeric_limits<uint16_t>::max()};
    case DType::U8:
      return Interval{0, std::numeric_limits<uint8_t>::max()};
    case DType::I8:
      return Interval{std::numeric_limits<int8_t>::min(), std::numeric_limits<int8_t>::max()};
    default:
      return std::nullopt;
  }
}

std::optional<Interval> Bounds(const Module& module, ExprId expr,
                               const std::map<SymbolId, Interval>& intervals,
                               const DimRanges& ranges) {
  return Bounder(module, intervals, ranges).Of(expr);
}

std::optional<bool> Decide(const Module& module, ExprId condition,
                           const std::map<SymbolId, Interval>& intervals, const DimRanges& ranges) {
  return Bounder(module, intervals, ranges).Decide(condition);
}

}  // namespace etc
