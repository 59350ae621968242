#include "emit/cxx_expr.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string_view>

#include "emit/cxx_names.h"
#include "ir/evaluate.h"
#include "ir/overloaded.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

/// A literal of type float or double.
std::string FloatText(double value, bool is_double) {
  if (std::isinf(value)) {
    std::string text = value > 0 ? "Infinity()" : "-Infinity()";
    return is_double ? "double(" + text + ")" : text;
  }
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return is_double ? text : text + "f";
}

std::string IntText(int64_t value) {
  if (value == std::numeric_limits<int64_t>::min()) {
    return "(-9223372036854775807LL - 1)";
  }
  return value < 0 ? fmt::format("({}LL)", value) : fmt::format("{}LL", value);
}

}  // namespace

std::string_view CxxType(ValueKind kind) {
  switch (kind) {
    case ValueKind::Int:
      return "i64";
    case ValueKind::Float:
      return "float";
    case ValueKind::Double:
      return "double";
    case ValueKind::Bool:
      return "bool";
    case ValueKind::Error:
      break;
  }
  ETC_CHECK(!"an expression without a kind reached emission");
}

namespace {

class Printer {
 public:
  explicit Printer(const CxxScope& scope) : scope_(scope), module_(scope.module()) {}

  std::string Print(ExprId id) const {
    return std::visit([&](const auto& e) { return Text(id, e); }, module_.exprs[id]);
  }

  /// Literals have 64 bits where a double is wanted.
  std::string As(ValueKind kind, ExprId id) const {
    ValueKind own = KindOf(module_, id);
    if (own == ValueKind::Float && kind == ValueKind::Double) {
      if (auto value = scope_.raised().doubles.find(id); value != scope_.raised().doubles.end()) {
        return FloatText(value->second, true);
      }
    }
    return own == kind ? Print(id) : fmt::format("{}({})", CxxType(kind), Print(id));
  }

  /// A reduction is a lambda called on the spot, so that it stands in any expression.
  std::string ReductionText(ExprId id, const Reduce& e) const {
    std::string loops;
    for (const Axis& axis : e.axes) {
      loops += CxxFor(scope_, axis);
    }
    std::string body = Print(e.body);
    std::string_view type = CxxType(KindOf(module_, e.body));
    if (IsArg(e.op)) {
      const Axis& axis = e.axes[0];
      return fmt::format(
          "[&] {{ i64 best = {}; {} top = {}<{}>(); bool any = false; {}{{ const {} value = "
          "{}; if (!any || value {} top) {{ any = true; top = value; best = {}; }} }} return "
          "best; }}()",
          axis.lo ? Print(axis.lo) : "0LL", type, e.op == Reduction::ArgMax ? "Lowest" : "Highest",
          type, loops, type, body, e.op == Reduction::ArgMax ? ">" : "<",
          CxxName(module_, axis.var));
    }
    type = CxxType(KindOf(module_, id));
    Accumulation parts = AccumulationOf(e.op, type);
    return fmt::format("[&] {{ {} acc = {}; {}acc = {}{}{}; return acc; }}()", type, parts.start,
                       loops, parts.before, body, parts.behind);
  }

 private:
  std::string Text(ExprId, const IntLiteral& e) const { return IntText(e.value); }
  std::string Text(ExprId, const FloatLiteral& e) const { return FloatText(e.value, false); }
  std::string Text(ExprId, const BoolLiteral& e) const { return e.value ? "true" : "false"; }
  std::string Text(ExprId, const SymbolRef& e) const { return scope_.Scalar(e.symbol); }

  std::string Text(ExprId, const Load& e) const { return CxxElement(scope_, e.tensor, e.indices); }

  std::string Text(ExprId, const Cast& e) const {
    switch (KindOf(e.type)) {
      case ValueKind::Float:
        return fmt::format("ToFloat({})", CxxNarrow(e.type, KindOf(module_, e.operand),
                                                    As(FloatKind(e.operand), e.operand)));
      case ValueKind::Double:
        return As(ValueKind::Double, e.operand);
      case ValueKind::Int: {
        ValueKind from = KindOf(module_, e.operand);
        // C++ defines no conversion of a float that does not fit.
        std::string type(etc::CxxType(e.type));
        return from == ValueKind::Float || from == ValueKind::Double
                   ? fmt::format("SaturatingInt<{}>({})", type, Print(e.operand))
                   : fmt::format("i64({}({}))", type, Print(e.operand));
      }
      default:
        return fmt::format("bool({})", Print(e.operand));
    }
  }

  std::string Text(ExprId, const Unary& e) const {
    return fmt::format("({}{})", Spelling(e.op), Print(e.operand));
  }

  std::string Text(ExprId id, const Binary& e) const {
    ValueKind kind = KindOf(module_, id);
    if (kind == ValueKind::Int && (e.op == BinaryOp::Div || e.op == BinaryOp::Mod)) {
      return fmt::format("{}{}({}, {})", DivisionName(DivisionOf(id)),
                         e.op == BinaryOp::Div ? "Div" : "Mod", Print(e.left),
                         Divisor(id, e.right));
    }
    if (IsShift(e.op)) {
      return fmt::format("{}({}, {})", e.op == BinaryOp::Shl ? "ShiftLeft" : "ShiftRight",
                         Print(e.left), Places(id, e.right));
    }
    if (IsComparison(e.op) && (KindOf(module_, e.left) == ValueKind::Double ||
                               KindOf(module_, e.right) == ValueKind::Double)) {
      kind = ValueKind::Double;
    }
    if (IsFloating(kind)) {
      return fmt::format("({} {} {})", Chained(id, As(kind, e.left)), Spelling(e.op),
                         As(kind, e.right));
    }
    return fmt::format("({} {} {})", Chained(id, Print(e.left)), Spelling(e.op), Print(e.right));
  }

  /// The left side, without its parentheses where it goes on in the expression.
  std::string Chained(ExprId id, std::string left) const {
    return scope_.raised().chained.contains(id) ? left.substr(1, left.size() - 2) : left;
  }

  Division DivisionOf(ExprId id) const { return scope_.raised().divisions.at(id); }
  std::string Divisor(ExprId division, ExprId divisor) const {
    std::string text = Print(divisor);
    return DivisionOf(division) == Division::Total
               ? scope_.CheckedDivisor(division, std::move(text))
               : text;
  }
  std::string Places(ExprId shift, ExprId places) const {
    return scope_.raised().open_shifts.contains(shift) ? scope_.CheckedPlaces(shift, Print(places))
                                                       : Print(places);
  }

  /// The width in which an operand becomes an element of fewer bits.
  ValueKind FloatKind(ExprId id) const {
    return KindOf(module_, id) == ValueKind::Double ? ValueKind::Double : ValueKind::Float;
  }

  std::string Text(ExprId id, const Call& e) const {
    ValueKind kind = KindOf(module_, id);
    switch (KindOf(e.op)) {
      case IntrinsicKind::Limit:
        return IntText(scope_.raised().limits.at(id));
      case IntrinsicKind::Choice:
        return fmt::format("({} ? {} : {})", Print(e.args[0]), As(kind, e.args[1]),
                           As(kind, e.args[2]));
      case IntrinsicKind::Quotient:
        return fmt::format("{}{}({}, {})", DivisionOf(id) == Division::Total ? "Total" : "",
                           FunctionName(e.op), Print(e.args[0]), Divisor(id, e.args[1]));
      case IntrinsicKind::Number:
      case IntrinsicKind::Float:
        break;
    }
    std::string args;
    for (ExprId arg : e.args) {
      args += (args.empty() ? "" : ", ") + As(kind, arg);
    }
    return fmt::format("{}({})", FunctionName(e.op), args);
  }

  std::string Text(ExprId id, const Reduce& e) const {
    const RaisedKernel& raised = scope_.raised();
    if (auto shared = raised.shared_reductions.find(id); shared != raised.shared_reductions.end()) {
      return CxxReductionName(shared->second);
    }
    auto kept = raised.kept_reductions.find(id);
    return kept == raised.kept_reductions.end() ? ReductionText(id, e) : CxxKeptName(kept->second);
  }

  const CxxScope& scope_;
  const Module& module_;
};

}  // namespace

Accumulation AccumulationOf(Reduction op, std::string_view type) {
  switch (op) {
    case Reduction::Sum:
      return {fmt::format("{}(0)", type), "acc + ", ""};
    case Reduction::Prod:
      return {fmt::format("{}(1)", type), "acc * ", ""};
    case Reduction::MaxOf:
      return {fmt::format("Lowest<{}>()", type), "Max(acc, ", ")"};
    case Reduction::MinOf:
      return {fmt::format("Highest<{}>()", type), "Min(acc, ", ")"};
    case Reduction::AnyOf:
      return {"false", "acc || ", ""};
    case Reduction::AllOf:
      return {"true", "acc && ", ""};
    case Reduction::ArgMax:
    case Reduction::ArgMin:
      break;
  }
  ETC_CHECK(!"a reduction that does not accumulate");
}

std::string CxxName(const Module& module, SymbolId id) {
  const Symbol& symbol = module.symbols[id];
  switch (symbol.kind) {
    case SymbolKind::Const:
      return "k_" + symbol.name;
    case SymbolKind::Dim:
      return "dims.d_" + symbol.name;
    case SymbolKind::Sms:
      return "sms";
    case SymbolKind::Rank:
      return "dims.peers.rank";
    case SymbolKind::Scalar:
      return "args.scalars." + CxxIdentifier(symbol.name);
    case SymbolKind::Value:
      break;  // KernelScope has its expression
    case SymbolKind::Index:
    case SymbolKind::RepeatVar:
    case SymbolKind::Let:
      return "i_" + symbol.name;
    case SymbolKind::Generic:
      break;
  }
  ETC_CHECK(!"unknown kind of symbol");
}

std::string CxxType(DType type) {
  return type == DType::F32 ? "float" : type == DType::F64 ? "double" : std::string(Spelling(type));
}

std::string CxxNarrow(DType type, ValueKind kind, const std::string& value) {
  bool rounds_twice = (kind == ValueKind::Double || kind == ValueKind::Int) && type != DType::F32;
  return fmt::format("FromFloat<{}>({}({}))", CxxType(type), rounds_twice ? "OddFloat" : "float",
                     value);
}

std::string_view DivisionName(Division division) {
  switch (division) {
    case Division::Small:
      return "Small";
    case Division::Floor:
      return "Floor";
    case Division::Total:
      return "TotalFloor";
  }
  ETC_CHECK(!"unknown kind of division");
}

std::string CxxScope::Scalar(SymbolId symbol) const { return CxxName(module(), symbol); }

std::string CxxExpr(const CxxScope& scope, ExprId expr) { return Printer(scope).Print(expr); }

std::string CxxBase(const CxxScope& scope, TensorId tensor, const std::vector<ExprId>& indices) {
  std::string pointer = scope.Pointer(tensor);
  return scope.module().tensors[tensor].array
             ? fmt::format("{}[{}]", pointer, CxxExpr(scope, indices[0]))
             : pointer;
}

std::string CxxElement(const CxxScope& scope, TensorId tensor, const std::vector<ExprId>& indices) {
  std::string element =
      fmt::format("{}[{}]", CxxBase(scope, tensor, indices), CxxOffset(scope, tensor, indices));
  ValueKind kind = KindOf(scope.module().tensors[tensor].type);
  std::string value =
      fmt::format("{}({})", kind == ValueKind::Float ? "ToFloat" : CxxType(kind), element);
  value = scope.Checked(tensor, indices, std::move(value));
  std::string guard = scope.Guard(tensor, indices, {});
  return guard.empty() ? value : fmt::format("({} ? {} : {}(0))", guard, value, CxxType(kind));
}

std::string CxxReduction(const CxxScope& scope, ExprId reduce) {
  return Printer(scope).ReductionText(reduce, std::get<Reduce>(scope.module().exprs[reduce]));
}
std::string CxxExprAs(const CxxScope& scope, ValueKind kind, ExprId expr) {
  return Printer(scope).As(kind, expr);
}

std::string CxxConstant(const std::string& name, const Constant& constant) {
  return std::visit(
      Overloaded{
          [&](int64_t value) {
            // The least has no literal: its digits are those of a number that is too large.
            return value == std::numeric_limits<int64_t>::min()
                       ? fmt::format("constexpr i64 {} = {}LL - 1;", name, value + 1)
                       : fmt::format("constexpr i64 {} = {}LL;", name, value);
          },
          [&](bool value) { return fmt::format("constexpr bool {} = {};", name, value); },
          [&](const FloatConstant& number) {
            if (std::isinf(number.value)) {
              return fmt::format("constexpr float {} = {}__builtin_bit_cast(float, 0x7f800000u);",
                                 name, number.value < 0 ? "-" : "");
            }
            const bool is_minus_zero = number.value == 0 && std::signbit(number.value);
            return fmt::format("constexpr {0} {1} = {0}({2});", number.wide ? "double" : "float",
                               name, is_minus_zero ? "-0.0" : fmt::to_string(number.value));
          },
      },
      constant);
}

std::string CxxOffset(const CxxScope& scope, TensorId tensor, const std::vector<ExprId>& indices) {
  const Tensor& declared = scope.module().tensors[tensor];
  size_t rank = declared.shape.size();
  // The last two axes of a layout are addressed together; a slice has neither.
  bool tiled = !declared.tile.empty() && indices.size() == rank;
  std::string text;
  for (size_t axis = declared.array ? 1 : 0; axis < rank; ++axis) {
    if (tiled && axis == rank - 2) {
      std::string rows = scope.Extent(tensor, axis), columns = scope.Extent(tensor, axis + 1);
      std::string leading =
          text.empty() ? "" : fmt::format("({}) * {} * {} + ", text, rows, columns);
      return fmt::format("{}TileOffset<{}>({}, {}, {})", leading, CxxTile(scope, tensor),
                         CxxExpr(scope, indices[axis]), CxxExpr(scope, indices[axis + 1]), columns);
    }
    if (!text.empty()) {
      text = fmt::format("({}) * {}", text, scope.Extent(tensor, axis));
    }
    if (axis < indices.size()) {
      text += (text.empty() ? "" : " + ") + CxxExpr(scope, indices[axis]);
    }
  }
  return text.empty() ? "0" : text;
}

std::string CxxTile(const CxxScope& scope, TensorId id) {
  const Tensor& tensor = scope.module().tensors[id];
  const std::vector<int64_t>& tile = scope.raised().tensors.at(id).tile;
  return fmt::format("{}, {}{}", tile[0], tile[1],
                     tensor.swizzled ? fmt::format(", {}", SizeInBytes(tensor.type)) : "");
}

std::string CxxFor(const CxxScope& scope, const Axis& axis) {
  std::string name = CxxName(scope.module(), axis.var);
  std::string end = "end_" + scope.module().symbols[axis.var].name;
  return fmt::format("for (i64 {0} = {1}, {2} = {3}; {0} < {2}; ++{0}) ", name,
                     axis.lo ? CxxExpr(scope, axis.lo) : "0LL", end, CxxExpr(scope, axis.hi));
}

}  // namespace etc
