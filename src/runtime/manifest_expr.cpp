#include "runtime/manifest_expr.h"

#include <algorithm>

namespace etc::runtime {
namespace {

using manifest::Expr;
using manifest::Op;

constexpr int kProduct = 10;

constexpr OpInfo kOps[] = {
    {"+", Op::Add, 2, 9},         {"-", Op::Sub, 2, 9},         {"*", Op::Mul, 2, kProduct},
    {"/", Op::Div, 2, kProduct},  {"%", Op::Mod, 2, kProduct},  {"ceildiv", Op::CeilDiv, 2, 0},
    {"align", Op::Align, 2, 0},   {"min", Op::Min, 2, 0},       {"max", Op::Max, 2, 0},
    {"select", Op::Select, 3, 0}, {"==", Op::Eq, 2, 3},         {"!=", Op::Ne, 2, 3},
    {"<", Op::Lt, 2, 4},          {"<=", Op::Le, 2, 4},         {">", Op::Gt, 2, 4},
    {">=", Op::Ge, 2, 4},         {"&&", Op::And, 2, 2},        {"||", Op::Or, 2, 1},
    {"|", Op::BitOr, 2, 5},       {"^", Op::BitXor, 2, 6},      {"&", Op::BitAnd, 2, 7},
    {"<<", Op::ShiftLeft, 2, 8},  {">>", Op::ShiftRight, 2, 8},
};

const OpInfo& InfoOf(Op op) {
  return *std::find_if(std::begin(kOps), std::end(kOps),
                       [op](const OpInfo& info) { return info.op == op; });
}

std::optional<int64_t> Add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}
std::optional<int64_t> Sub(int64_t a, int64_t b) {
  int64_t difference = 0;
  return __builtin_sub_overflow(a, b, &difference) ? std::nullopt : std::optional(difference);
}
std::optional<int64_t> Mul(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}
bool CanDivide(int64_t a, int64_t b) { return b != 0 && !(a == INT64_MIN && b == -1); }

std::optional<int64_t> FloorDiv(int64_t a, int64_t b) {
  if (!CanDivide(a, b)) {
    return std::nullopt;
  }
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
std::optional<int64_t> CeilDiv(int64_t a, int64_t b) {
  if (!CanDivide(a, b)) {
    return std::nullopt;
  }
  return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
}
/// The remainder of the floor division: it has the sign of `b`.
std::optional<int64_t> Mod(int64_t a, int64_t b) {
  if (!CanDivide(a, b)) {
    return std::nullopt;
  }
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

bool CanShift(int64_t places) { return places >= 0 && places <= 63; }

std::optional<int64_t> ShiftLeft(int64_t a, int64_t places) {
  if (!CanShift(places)) {
    return std::nullopt;
  }
  const auto shifted = static_cast<int64_t>(static_cast<uint64_t>(a) << places);
  return shifted >> places == a ? std::optional(shifted) : std::nullopt;
}

std::optional<int64_t> Apply(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::Add:
      return Add(a, b);
    case Op::Sub:
      return Sub(a, b);
    case Op::Mul:
      return Mul(a, b);
    case Op::Div:
      return FloorDiv(a, b);
    case Op::Mod:
      return Mod(a, b);
    case Op::CeilDiv:
      return CeilDiv(a, b);
    case Op::Align: {
      const std::optional<int64_t> count = CeilDiv(a, b);
      return count ? Mul(*count, b) : std::nullopt;
    }
    case Op::Min:
      return std::min(a, b);
    case Op::Max:
      return std::max(a, b);
    case Op::Eq:
      return a == b;
    case Op::Ne:
      return a != b;
    case Op::Lt:
      return a < b;
    case Op::Le:
      return a <= b;
    case Op::Gt:
      return a > b;
    case Op::Ge:
      return a >= b;
    case Op::BitOr:
      return a | b;
    case Op::BitXor:
      return a ^ b;
    case Op::BitAnd:
      return a & b;
    case Op::ShiftLeft:
      return ShiftLeft(a, b);
    case Op::ShiftRight:
      return CanShift(b) ? std::optional(a >> b) : std::nullopt;
    case Op::Select:
    case Op::And:
    case Op::Or:
      break;
  }
  return std::nullopt;
}

/// `&&`, `||` and `select` evaluate only the arguments that they need, so that
/// `select(n == 0, 0, 8/n)` has a value everywhere.
std::optional<int64_t> Value(const Expr& expr, const std::vector<int64_t>& dims) {
  if (expr.kind == Expr::Kind::Int) {
    return expr.value;
  }
  if (expr.kind == Expr::Kind::Dim) {
    return dims[static_cast<size_t>(expr.value)];
  }
  const std::optional<int64_t> first = Value(expr.args[0], dims);
  if (!first) {
    return std::nullopt;
  }
  if (expr.op == Op::Select) {
    return Value(expr.args[*first != 0 ? 1 : 2], dims);
  }
  if ((expr.op == Op::And && *first == 0) || (expr.op == Op::Or && *first != 0)) {
    return *first != 0;
  }
  const std::optional<int64_t> second = Value(expr.args[1], dims);
  if (!second) {
    return std::nullopt;
  }
  return expr.op == Op::And || expr.op == Op::Or ? *second != 0 : Apply(expr.op, *first, *second);
}

std::string Print(const Expr& expr, const std::vector<manifest::Dim>& dims, int outer) {
  if (expr.kind == Expr::Kind::Int) {
    return std::to_string(expr.value);
  }
  if (expr.kind == Expr::Kind::Dim) {
    return dims[static_cast<size_t>(expr.value)].name;
  }
  const OpInfo& info = InfoOf(expr.op);
  if (info.precedence == 0) {
    std::string text = Cat(info.spelling, "(");
    for (size_t i = 0; i < expr.args.size(); ++i) {
      text += (i == 0 ? "" : ", ") + Print(expr.args[i], dims, 0);
    }
    return text + ")";
  }
  // The operators associate to the left, so the right argument binds tighter by one.
  const std::string_view space = info.precedence >= kProduct ? "" : " ";
  const std::string text = Cat(Print(expr.args[0], dims, info.precedence), space, info.spelling,
                               space, Print(expr.args[1], dims, info.precedence + 1));
  return info.precedence < outer ? "(" + text + ")" : text;
}

}  // namespace

const OpInfo* FindOp(std::string_view spelling) {
  const auto* found = std::find_if(std::begin(kOps), std::end(kOps),
                                   [&](const OpInfo& info) { return info.spelling == spelling; });
  return found == std::end(kOps) ? nullptr : found;
}

Status Evaluate(const Expr& expr, const std::vector<int64_t>& dims, int64_t* value) {
  const std::optional<int64_t> result = Value(expr, dims);
  if (!result) {
    return Fail(ETC_ERROR_MANIFEST,
                "divides by zero, overflows, or shifts by less than 0 or more than 63");
  }
  *value = *result;
  return {};
}

std::string ToText(const Expr& expr, const std::vector<manifest::Dim>& dims) {
  return Print(expr, dims, 0);
}

std::string RangesText(const manifest::Source& source) {
  std::string text;
  for (const auto& range : source.ranges) {
    text += text.empty() ? "[" : ", ";
    text += !range             ? "*"
            : range->is_padded ? Cat(range->extent, " padded")
                               : Cat(range->first, "..", range->end, " of ", range->extent);
  }
  return text.empty() ? text : text + "]";
}

bool NamesDim(const Expr& expr) {
  return expr.kind == Expr::Kind::Dim || std::any_of(expr.args.begin(), expr.args.end(), NamesDim);
}

bool IsKnown(const Expr& expr, const std::vector<std::optional<int64_t>>& known) {
  if (expr.kind == Expr::Kind::Dim) {
    return known[static_cast<size_t>(expr.value)].has_value();
  }
  return std::all_of(expr.args.begin(), expr.args.end(),
                     [&](const Expr& arg) { return IsKnown(arg, known); });
}

}  // namespace etc::runtime
