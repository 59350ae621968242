// The kind of each operator's result, from those of its operands.
#include <fmt/format.h>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/walk.h"
#include "verify/expr_checker.h"
#include "verify/wording.h"

namespace etc {

void ExprChecker::CheckDivisor(ExprId id, ExprId divisor) {
  auto value = checks_operands_ ? EvaluateInt(module_, divisor, {}) : std::nullopt;
  if (value && *value == 0) {
    diagnostics_.Error(DiagnosticKind::Operand, module_.RangeOf(id),
                       fmt::format("`{}` divides by zero", Print(module_, id)));
  }
}

void ExprChecker::CheckShift(ExprId id, ExprId places) {
  auto value = checks_operands_ ? EvaluateInt(module_, places, {}) : std::nullopt;
  if (value && (*value < 0 || *value > 63)) {
    diagnostics_.Error(
        DiagnosticKind::Operand, module_.RangeOf(id),
        fmt::format("`{}` shifts by {} places, outside of 0 .. 64", Print(module_, id), *value));
  }
}

void ExprChecker::CheckOverflow(ExprId id) {
  const Expr& expr = module_.exprs[id];
  bool computes = std::holds_alternative<Unary>(expr) || std::holds_alternative<Binary>(expr) ||
                  std::holds_alternative<Call>(expr);
  bool constant = computes && checks_operands_;
  VisitOperands(expr,
                [&](ExprId operand) { constant = constant && EvaluateInt(module_, operand, {}); });
  if (constant && !EvaluateInt(module_, id, {})) {
    diagnostics_.Error(DiagnosticKind::Operand, module_.RangeOf(id),
                       fmt::format("`{}` does not fit in 64 bits", Print(module_, id)));
  }
}

ValueKind ExprChecker::KindOf(ExprId, const IntLiteral&) { return ValueKind::Int; }
ValueKind ExprChecker::KindOf(ExprId, const FloatLiteral&) { return ValueKind::Float; }
ValueKind ExprChecker::KindOf(ExprId, const BoolLiteral&) { return ValueKind::Bool; }

ValueKind ExprChecker::KindOf(ExprId id, const SymbolRef& ref) {
  const Symbol& symbol = module_.symbols[ref.symbol];
  if (symbol.kind == SymbolKind::Sms && refuses_sms_) {
    return Wrong(id,
                 "`sms` is not known in a device function: what tasks do must not depend on how "
                 "many SMs run them");
  }
  switch (symbol.kind) {
    case SymbolKind::Let: {
      auto found = lets_.find(ref.symbol);
      return found != lets_.end() ? found->second : ValueKind::Error;
    }
    case SymbolKind::Const:
    case SymbolKind::Scalar:
      return etc::KindOf(module_, id);
    case SymbolKind::Dim:
    case SymbolKind::Index:
    case SymbolKind::RepeatVar:
    case SymbolKind::Value:
    case SymbolKind::Sms:
    case SymbolKind::Rank:
    case SymbolKind::Generic:
      break;
  }
  return ValueKind::Int;
}

ValueKind ExprChecker::KindOf(ExprId id, const Load& load) {
  CheckPlace(load.tensor, load.indices, module_.RangeOf(id));
  return etc::KindOf(module_.tensors[load.tensor].type);
}

ValueKind ExprChecker::KindOf(ExprId, const Cast& cast) {
  return Kind(cast.operand) == ValueKind::Error ? ValueKind::Error : etc::KindOf(cast.type);
}

ValueKind ExprChecker::KindOf(ExprId, const Unary& unary) {
  if (unary.op == UnaryOp::Not) {
    Require(unary.operand, ValueKind::Bool, "the operand of `!`");
    return ValueKind::Bool;
  }
  if (unary.op == UnaryOp::BitNot) {
    Require(unary.operand, ValueKind::Int, "the operand of `~`");
    return ValueKind::Int;
  }
  return Number(unary.operand, "-");
}

ValueKind ExprChecker::KindOf(ExprId id, const Binary& binary) {
  std::string_view op = Spelling(binary.op);
  switch (binary.op) {
    case BinaryOp::Or:
    case BinaryOp::And:
      Require(binary.left, ValueKind::Bool, fmt::format("the left side of `{}`", op));
      Require(binary.right, ValueKind::Bool, fmt::format("the right side of `{}`", op));
      return ValueKind::Bool;
    case BinaryOp::Eq:
    case BinaryOp::Ne: {
      ValueKind left = Kind(binary.left);
      ValueKind joined = Join(id, left, Kind(binary.right), op);
      return joined == ValueKind::Error ? joined : ValueKind::Bool;
    }
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge: {
      ValueKind left = Number(binary.left, op);
      ValueKind joined = Join(id, left, Number(binary.right, op), op);
      return joined == ValueKind::Error ? joined : ValueKind::Bool;
    }
    case BinaryOp::Mod:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor:
    case BinaryOp::BitAnd:
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      Require(binary.left, ValueKind::Int, fmt::format("the left side of `{}`", op));
      Require(binary.right, ValueKind::Int, fmt::format("the right side of `{}`", op));
      if (binary.op == BinaryOp::Mod) {
        CheckDivisor(id, binary.right);
      } else if (IsShift(binary.op)) {
        CheckShift(id, binary.right);
      }
      return ValueKind::Int;
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul:
    case BinaryOp::Div: {
      ValueKind left = Number(binary.left, op);
      ValueKind joined = Join(id, left, Number(binary.right, op), op);
      if (binary.op == BinaryOp::Div && joined == ValueKind::Int) {
        CheckDivisor(id, binary.right);
      }
      return joined;
    }
  }
  return ValueKind::Error;
}

ValueKind ExprChecker::KindOf(ExprId id, const Call& call) {
  std::string_view op = Spelling(call.op);
  if (static_cast<int>(call.args.size()) != Arity(call.op)) {
    return Wrong(
        id, fmt::format("`{}` takes {}, but {} {} given", op, Counted(Arity(call.op), "argument"),
                        call.args.size(), call.args.size() == 1 ? "is" : "are"));
  }
  switch (etc::KindOf(call.op)) {
    case IntrinsicKind::Number: {
      ValueKind joined = Number(call.args[0], op);
      for (size_t i = 1; i < call.args.size(); ++i) {
        joined = Join(id, joined, Number(call.args[i], op), op);
      }
      return joined;
    }
    case IntrinsicKind::Quotient:
      for (ExprId arg : call.args) {
        Require(arg, ValueKind::Int, fmt::format("an argument of `{}`", op));
      }
      CheckDivisor(id, call.args[1]);
      return ValueKind::Int;
    case IntrinsicKind::Choice: {
      Require(call.args[0], ValueKind::Bool, "the condition of `select`");
      ValueKind yes = Kind(call.args[1]);
      return Join(id, yes, Kind(call.args[2]), op);
    }
    case IntrinsicKind::Limit: {
      const auto* ref = std::get_if<SymbolRef>(&module_.exprs[call.args[0]]);
      if (ref == nullptr || module_.symbols[ref->symbol].kind != SymbolKind::Dim) {
        return Wrong(call.args[0], fmt::format("`{}` takes a dimension, but `{}` is not one", op,
                                               Print(module_, call.args[0])));
      }
      return ValueKind::Int;
    }
    case IntrinsicKind::Float:
      break;
  }
  ValueKind joined = ValueKind::Float;
  for (ExprId arg : call.args) {
    ValueKind kind = Kind(arg);
    ValueKind wanted = kind == ValueKind::Double ? kind : ValueKind::Float;
    bool wrong = IsWrong(arg, kind, wanted, fmt::format("an argument of `{}`", op));
    if (kind == ValueKind::Error || wrong) {
      joined = ValueKind::Error;
    } else if (kind == ValueKind::Double && joined == ValueKind::Float) {
      joined = kind;
    }
  }
  return joined;
}

ValueKind ExprChecker::KindOf(ExprId id, const Reduce& reduce) {
  CheckRanges(reduce.axes);
  if (IsLogical(reduce.op)) {
    Require(reduce.body, ValueKind::Bool, fmt::format("the body of `{}`", Spelling(reduce.op)));
    return ValueKind::Bool;
  }
  ValueKind body = Number(reduce.body, Spelling(reduce.op));
  if (!IsArg(reduce.op)) {
    return body;
  }
  if (reduce.axes.size() != 1) {
    return Wrong(id, fmt::format("`{}` takes one axis, but {} are given", Spelling(reduce.op),
                                 reduce.axes.size()));
  }
  return ValueKind::Int;
}

ValueKind ExprChecker::Wrong(ExprId id, std::string message) {
  diagnostics_.Error(DiagnosticKind::Type, module_.RangeOf(id), std::move(message));
  return ValueKind::Error;
}

ValueKind ExprChecker::Number(ExprId id, std::string_view op) {
  ValueKind kind = Kind(id);
  if (kind != ValueKind::Bool) {
    return kind;
  }
  return Wrong(id,
               fmt::format("`{}` takes numbers, but `{}` is a boolean", op, Print(module_, id)));
}

ValueKind ExprChecker::Join(ExprId id, ValueKind left, ValueKind right, std::string_view op) {
  if (left == ValueKind::Error || right == ValueKind::Error) {
    return ValueKind::Error;
  }
  if (left == right) {
    return left;
  }
  if (left == ValueKind::Bool || right == ValueKind::Bool) {
    return Wrong(id, fmt::format("`{}` takes two values of one kind, but is given {} and {}", op,
                                 Describe(left), Describe(right)));
  }
  bool has_double = left == ValueKind::Double || right == ValueKind::Double;
  return has_double ? ValueKind::Double : ValueKind::Float;
}

}  // namespace etc
