#include "interpreter.h"

#include <fmt/format.h>

#include <algorithm>

namespace etc::mutation {
namespace {

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

Interpreter::Interpreter(const Module& module, const Env& dims, const DimRanges& ranges)
    : module_(module), ranges_(ranges), values_(module.symbols.size()) {
  for (SymbolId id : module.symbols.Ids()) {
    const Symbol& symbol = module.symbols[id];
    if (symbol.kind == SymbolKind::Const) {
      Value value = EvaluateInt(module, symbol.value, {});
      if (!value) {
        value = EvaluateBool(module, symbol.value, {});
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
    return values_[ref->symbol.value];
  }
  if (const auto* load = std::get_if<Load>(&expr)) {
    return Of(*load);
  }
  if (const auto* cast = std::get_if<Cast>(&expr)) {
    Value value = Eval(cast->operand);
    bool integer = cast->type == DType::I32 || cast->type == DType::I64;
    return integer ? value : std::nullopt;
  }
  if (const auto* unary = std::get_if<Unary>(&expr)) {
    Value value = Eval(unary->operand);
    return !value ? value : unary->op == UnaryOp::Neg ? -*value : Value(*value == 0);
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
  Value sum = 0;
  Loop(reduce.axes, [&] {
    Value value = Eval(reduce.body);
    sum = sum && value ? Value(*sum + *value) : std::nullopt;
  });
  return reduce.op == Reduction::Sum ? sum : std::nullopt;
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

void Interpreter::Touch(TensorId id, const std::vector<ExprId>& indices, bool write) {
  auto index = Index(indices);
  if (!index) {
    return;
  }
  const Tensor& tensor = module_.tensors[id];
  if (tensor.kind != TensorKind::Local) {
    on_access(id, *index, write);
    return;
  }
  std::vector<int64_t> shape = Shape(tensor);
  for (size_t i = 0; i < shape.size(); ++i) {
    if ((*index)[i] < 0 || (*index)[i] >= shape[i]) {
      fault_ = fmt::format("`%{}` has no index {}", tensor.name, (*index)[i]);
    }
  }
}

Value Interpreter::Of(const Load& load) {
  Touch(load.tensor, load.indices, false);
  const Tensor& tensor = module_.tensors[load.tensor];
  if (tensor.kind == TensorKind::Local || KindOf(tensor.type) != ValueKind::Int) {
    return std::nullopt;
  }
  auto index = Index(load.indices);
  return index ? on_load(load.tensor, *index) : std::nullopt;
}

void Interpreter::Run(const std::vector<StmtId>& body) {
  for (StmtId id : body) {
    const Stmt& stmt = module_.stmts[id];
    if (const auto* loop = std::get_if<For>(&stmt)) {
      Loop(loop->axes, [&] { Run(loop->body); });
    } else if (const auto* branch = std::get_if<If>(&stmt)) {
      if (Known(Eval(branch->condition)).value_or(1) != 0) {
        Run(branch->body);
      }
    } else if (const auto* let = std::get_if<Let>(&stmt)) {
      Set(let->symbol, Eval(let->value));
    } else if (const auto* assign = std::get_if<Assign>(&stmt)) {
      Eval(assign->value);
      Touch(assign->tensor, assign->indices, true);
    } else if (const auto* topk = std::get_if<TopK>(&stmt)) {
      Run(*topk);
    }
  }
}

void Interpreter::Run(const TopK& topk) {
  Loop({topk.axis}, [&] { Eval(topk.body); });
  Loop({topk.rank}, [&] {
    Touch(topk.values, topk.value_indices, true);
    Touch(topk.positions, topk.position_indices, true);
  });
}

}  // namespace etc::mutation
