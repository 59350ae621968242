#include "interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace etc::mutation {
namespace {

/// A value of the language, in two's complement.
int64_t Wrapped(uint64_t bits) { return static_cast<int64_t>(bits); }

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

Interpreter::Interpreter(const Module& module, const Env& dims, const DimRanges& ranges)
    : module_(module), ranges_(ranges), values_(module.symbols.size()) {
  for (SymbolId id : module.symbols.Ids()) {
    const Symbol& symbol = module.symbols[id];
    if (symbol.kind == SymbolKind::Const && symbol.value) {
      Value value = EvaluateInt(module, symbol.value, {}, ranges);
      if (!value) {
        value = EvaluateBool(module, symbol.value, {}, ranges);
      }
      Set(id, value);
    }
  }
  for (const auto& [dim, value] : dims) {
    Set(dim, value);
  }
}

Value Interpreter::Known(Value value) {
  unknown_ = unknown_ || !value;
  return value;
}

Value Interpreter::Eval(ExprId id) {
  const Expr& expr = module_.exprs[id];
  if (const auto* literal = std::get_if<IntLiteral>(&expr)) {
    return literal->value;
  }
  if (const auto* literal = std::get_if<BoolLiteral>(&expr)) {
    return literal->value;
  }
  if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
    const Symbol& symbol = module_.symbols[ref->symbol];
    return symbol.kind == SymbolKind::Value ? Eval(symbol.value) : values_[ref->symbol.value];
  }
  if (const auto* load = std::get_if<Load>(&expr)) {
    return Of(*load);
  }
  if (const auto* cast = std::get_if<Cast>(&expr)) {
    Value value = Eval(cast->operand);
    if (KindOf(cast->type) != ValueKind::Int || !value) {
      return std::nullopt;
    }
    auto range = RangeOfType(cast->type);
    return !range || (range->lo <= *value && *value <= range->hi) ? value : std::nullopt;
  }
  if (const auto* unary = std::get_if<Unary>(&expr)) {
    Value value = Eval(unary->operand);
    return !value                         ? value
           : unary->op == UnaryOp::Neg    ? -*value
           : unary->op == UnaryOp::BitNot ? ~*value
                                          : Value(*value == 0);
  }
  if (const auto* binary = std::get_if<Binary>(&expr)) {
    return Of(*binary);
  }
  if (const auto* call = std::get_if<Call>(&expr)) {
    return Of(*call, id);
  }
  if (const auto* reduce = std::get_if<Reduce>(&expr)) {
    return Of(*reduce);
  }
  return std::nullopt;  // a float literal
}

Value Interpreter::Of(const Binary& binary) {
  Value left = Eval(binary.left);
  if (binary.op == BinaryOp::And || binary.op == BinaryOp::Or) {
    if (Known(left) && (*left != 0) == (binary.op == BinaryOp::Or)) {
      return left;
    }
    return Eval(binary.right);
  }
  Value right = Eval(binary.right);
  if (!left || !right) {
    return std::nullopt;
  }
  int64_t a = *left;
  int64_t b = *right;
  switch (binary.op) {
    case BinaryOp::Eq:
      return a == b;
    case BinaryOp::Ne:
      return a != b;
    case BinaryOp::Lt:
      return a < b;
    case BinaryOp::Le:
      return a <= b;
    case BinaryOp::Gt:
      return a > b;
    case BinaryOp::Ge:
      return a >= b;
    case BinaryOp::Add:
      return a + b;
    case BinaryOp::Sub:
      return a - b;
    case BinaryOp::Mul:
      return a * b;
    case BinaryOp::BitOr:
      return a | b;
    case BinaryOp::BitXor:
      return a ^ b;
    case BinaryOp::BitAnd:
      return a & b;
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      if (b < 0 || b > 63) {
        fault_ = "a shift out of range";
        return std::nullopt;
      }
      return binary.op == BinaryOp::Shr ? a >> b : Wrapped(static_cast<uint64_t>(a) << b);
    default:
      break;
  }
  if (b == 0) {
    fault_ = "a division by zero";
    return std::nullopt;
  }
  return binary.op == BinaryOp::Div ? FloorDiv(a, b) : a - FloorDiv(a, b) * b;
}

Value Interpreter::Of(const Call& call, ExprId id) {
  if (call.op == Intrinsic::Lower || call.op == Intrinsic::Upper) {
    return EvaluateInt(module_, id, {}, ranges_);
  }
  if (call.op == Intrinsic::Select) {
    Value condition = Known(Eval(call.args[0]));
    return Eval(call.args[condition.value_or(1) != 0 ? 1 : 2]);
  }
  std::vector<Value> args;
  for (ExprId arg : call.args) {
    args.push_back(Eval(arg));
  }
  if (std::find(args.begin(), args.end(), Value()) != args.end()) {
    return std::nullopt;
  }
  int64_t a = *args[0];
  switch (call.op) {
    case Intrinsic::Abs:
      return std::abs(a);
    case Intrinsic::Min:
      return std::min(a, *args[1]);
    case Intrinsic::Max:
      return std::max(a, *args[1]);
    case Intrinsic::CeilDiv:
    case Intrinsic::Align: {
      int64_t b = *args[1];
      if (b == 0) {
        fault_ = "a division by zero";
        return std::nullopt;
      }
      int64_t quotient = -FloorDiv(-a, b);
      return call.op == Intrinsic::CeilDiv ? quotient : quotient * b;
    }
    default:
      return std::nullopt;  // a float
  }
}

Value Interpreter::Of(const Reduce& reduce) {
  if (IsArg(reduce.op)) {
    return ArgOf(reduce);
  }
  Value result = Start(reduce.op);
  Loop(reduce.axes, [&] {
    Value value = Eval(reduce.body);
    result = result && value ? Joined(reduce.op, *result, *value) : std::nullopt;
  });
  return result;
}

/// What a reduction over no element is, of integers.
Value Interpreter::Start(Reduction op) {
  switch (op) {
    case Reduction::Prod:
    case Reduction::AllOf:
      return 1;
    case Reduction::MaxOf:
      return std::numeric_limits<int64_t>::min();
    case Reduction::MinOf:
      return std::numeric_limits<int64_t>::max();
    default:
      return 0;
  }
}

Value Interpreter::Joined(Reduction op, int64_t a, int64_t b) {
  switch (op) {
    case Reduction::Sum:
      return a + b;
    case Reduction::Prod:
      return Wrapped(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case Reduction::MaxOf:
      return std::max(a, b);
    case Reduction::MinOf:
      return std::min(a, b);
    case Reduction::AnyOf:
      return a != 0 || b != 0;
    default:
      return a != 0 && b != 0;
  }
}

Value Interpreter::ArgOf(const Reduce& reduce) {
  const Axis& axis = reduce.axes[0];
  Value lo = axis.lo ? Eval(axis.lo) : 0;
  std::vector<Value> values;
  Loop(reduce.axes, [&] { values.push_back(Eval(reduce.body)); });
  if (values.empty()) {
    return lo;
  }
  bool known = std::find(values.begin(), values.end(), Value()) == values.end();
  auto best = reduce.op == Reduction::ArgMax ? std::max_element(values.begin(), values.end())
                                             : std::min_element(values.begin(), values.end());
  int64_t at = known ? best - values.begin() : on_choose(static_cast<int64_t>(values.size()));
  return *lo + at;
}

void Interpreter::Loop(const std::vector<Axis>& axes, const std::function<void()>& visit,
                       size_t axis) {
  if (axis == axes.size()) {
    visit();
    return;
  }
  Value lo = axes[axis].lo ? Known(Eval(axes[axis].lo)) : 0;
  Value hi = Known(Eval(axes[axis].hi));
  if (!lo || !hi) {
    return;
  }
  for (int64_t i = *lo; i < *hi; ++i) {
    Set(axes[axis].var, i);
    Loop(axes, visit, axis + 1);
  }
}

/// Like `Loop`, of iterations that are told apart.
void Interpreter::Iterate(const std::vector<Axis>& axes, const std::function<void()>& visit,
                          size_t axis) {
  if (axis == axes.size()) {
    visit();
    return;
  }
  size_t run = ++runs_;
  Loop({axes[axis]}, [&] {
    place_.push_back({run, *Get(axes[axis].var)});
    Iterate(axes, visit, axis + 1);
    place_.pop_back();
  });
}

std::optional<std::vector<int64_t>> Interpreter::Index(const std::vector<ExprId>& indices) {
  std::vector<int64_t> index;
  for (ExprId id : indices) {
    Value value = Known(Eval(id));
    if (!value) {
      return std::nullopt;
    }
    index.push_back(*value);
  }
  return index;
}

std::vector<int64_t> Interpreter::Shape(const Tensor& tensor) {
  return Index(tensor.shape).value_or(std::vector<int64_t>());
}

void Interpreter::CheckLocal(const Tensor& tensor, const std::vector<int64_t>& index) {
  std::vector<int64_t> shape = Shape(tensor);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (index[i] < 0 || index[i] >= shape[i]) {
      fault_ = fmt::format("`%{}` has no index {}", tensor.name, index[i]);
    }
  }
}

void Interpreter::TouchLocal(TensorId tensor, const std::vector<int64_t>& index, bool write) {
  std::pair element{declared_[tensor], index};
  if (touches_.Add(element, place_, tensor, write)) {
    dependent_.insert(tensor);
  }
  if (write) {
    written_.insert(std::move(element));
  } else if (!written_.contains(element)) {
    undefined_.insert(tensor);
  }
}

Value Interpreter::Of(const Load& load) {
  auto index = Index(load.indices);
  if (!index) {
    return std::nullopt;
  }
  const Tensor& tensor = module_.tensors[load.tensor];
  if (tensor.kind != TensorKind::Local) {
    return on_read(load.tensor, *index);
  }
  CheckLocal(tensor, *index);
  TouchLocal(load.tensor, *index, false);
  auto found = locals_.find({load.tensor, *index});
  return found == locals_.end() ? std::nullopt : found->second;
}

void Interpreter::Write(TensorId id, const std::vector<ExprId>& indices, Value value) {
  auto index = Index(indices);
  if (!index) {
    return;
  }
  const Tensor& tensor = module_.tensors[id];
  if (tensor.kind != TensorKind::Local) {
    on_write(id, *index, value);
    return;
  }
  CheckLocal(tensor, *index);
  TouchLocal(id, *index, true);
  if (KindOf(tensor.type) == ValueKind::Int) {
    locals_[{id, *index}] = value;
  }
}

}  // namespace etc::mutation
