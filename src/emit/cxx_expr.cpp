#include "emit/cxx_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "support/diagnostics.h"

namespace etc {
namespace {

std::string FloatText(double value) {
  if (std::isinf(value)) {
    return value > 0 ? "Infinity()" : "-Infinity()";
  }
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text + "f";
}

std::string IntText(int64_t value) {
  if (value == std::numeric_limits<int64_t>::min()) {
    return "(-9223372036854775807LL - 1)";
  }
  return value < 0 ? fmt::format("({}LL)", value) : fmt::format("{}LL", value);
}

/// The name of a scalar function in kernels/tile/scalar.cuh.
std::string_view FunctionName(Intrinsic op) {
  switch (op) {
#define ETC_INTRINSIC(name, spelling, arity, domain, result) \
  case Intrinsic::name:                                      \
    return #name;
#include "ir/ops.def"
  }
  ETC_CHECK(!"unknown intrinsic");
}

class Printer {
 public:
  explicit Printer(const CxxScope& scope) : scope_(scope), module_(scope.module()) {}

  std::string Print(ExprId id) const {
    return std::visit([&](const auto& e) { return Text(id, e); }, module_.exprs[id]);
  }

 private:
  std::string As(ValueKind kind, ExprId id) const {
    return KindOf(module_, id) == kind ? Print(id)
                                       : fmt::format("{}({})", CxxType(kind), Print(id));
  }

  std::string Text(ExprId, const IntLiteral& e) const { return IntText(e.value); }
  std::string Text(ExprId, const FloatLiteral& e) const { return FloatText(e.value); }
  std::string Text(ExprId, const BoolLiteral& e) const { return e.value ? "true" : "false"; }
  std::string Text(ExprId, const SymbolRef& e) const { return scope_.Scalar(e.symbol); }

  std::string Text(ExprId, const Load& e) const { return CxxElement(scope_, e.tensor, e.indices); }

  std::string Text(ExprId, const Cast& e) const {
    switch (KindOf(e.type)) {
      case ValueKind::Float:
        return fmt::format("ToFloat(FromFloat<{}>({}))", etc::CxxType(e.type),
                           As(ValueKind::Float, e.operand));
      case ValueKind::Int:
        return fmt::format("i64({}({}))", etc::CxxType(e.type), Print(e.operand));
      default:
        return fmt::format("bool({})", Print(e.operand));
    }
  }

  std::string Text(ExprId, const Unary& e) const {
    return fmt::format("({}{})", Spelling(e.op), Print(e.operand));
  }

  std::string Text(ExprId id, const Binary& e) const {
    bool integer = KindOf(module_, id) == ValueKind::Int;
    if (integer && (e.op == BinaryOp::Div || e.op == BinaryOp::Mod)) {
      bool small = FitsU32(scope_, e.left, 0) && FitsU32(scope_, e.right, 1);
      return fmt::format("{}{}({}, {})", small ? "Small" : "Floor",
                         e.op == BinaryOp::Div ? "Div" : "Mod", Print(e.left), Print(e.right));
    }
    if (!integer && KindOf(module_, id) == ValueKind::Float) {
      return fmt::format("({} {} {})", As(ValueKind::Float, e.left), Spelling(e.op),
                         As(ValueKind::Float, e.right));
    }
    return fmt::format("({} {} {})", Print(e.left), Spelling(e.op), Print(e.right));
  }

  std::string Text(ExprId id, const Call& e) const {
    ValueKind kind = KindOf(module_, id);
    if (e.op == Intrinsic::Lower || e.op == Intrinsic::Upper) {
      auto value = EvaluateInt(module_, id, {}, scope_.ranges());
      ETC_CHECK(value);
      return IntText(*value);
    }
    if (e.op == Intrinsic::Select) {
      return fmt::format("({} ? {} : {})", Print(e.args[0]), As(kind, e.args[1]),
                         As(kind, e.args[2]));
    }
    std::string args;
    for (ExprId arg : e.args) {
      args += (args.empty() ? "" : ", ") + As(kind, arg);
    }
    return fmt::format("{}({})", FunctionName(e.op), args);
  }

  /// A reduction is a lambda called on the spot, so that it stands in any expression.
  std::string Text(ExprId id, const Reduce& e) const {
    std::string loops;
    for (const Axis& axis : e.axes) {
      loops += CxxFor(scope_, axis);
    }
    std::string body = Print(e.body);
    std::string_view type = CxxType(KindOf(module_, e.body));
    if (e.op == Reduction::ArgMax) {
      const Axis& axis = e.axes[0];
      return fmt::format(
          "[&] {{ i64 best = {}; {} top = Lowest<{}>(); bool any = false; {}{{ const {} value = "
          "{}; if (!any || value > top) {{ any = true; top = value; best = {}; }} }} return "
          "best; }}()",
          axis.lo ? Print(axis.lo) : "0LL", type, type, loops, type, body,
          CxxName(module_, axis.var));
    }
    type = CxxType(KindOf(module_, id));
    std::string_view update = e.op == Reduction::Sum     ? "acc + "
                              : e.op == Reduction::MaxOf ? "Max(acc, "
                                                         : "Min(acc, ";
    std::string start = e.op == Reduction::Sum     ? fmt::format("{}(0)", type)
                        : e.op == Reduction::MaxOf ? fmt::format("Lowest<{}>()", type)
                                                   : fmt::format("Highest<{}>()", type);
    return fmt::format("[&] {{ {} acc = {}; {}acc = {}{}{}; return acc; }}()", type, start, loops,
                       update, body, e.op == Reduction::Sum ? "" : ")");
  }

  const CxxScope& scope_;
  const Module& module_;
};

}  // namespace

std::string CxxIdentifier(const std::string& name) {
  static constexpr std::array<std::string_view, 92> kKeywords = {
      "alignas",       "alignof",     "and",
      "and_eq",        "asm",         "auto",
      "bitand",        "bitor",       "bool",
      "break",         "case",        "catch",
      "char",          "char16_t",    "char32_t",
      "char8_t",       "class",       "co_await",
      "co_return",     "co_yield",    "compl",
      "concept",       "const",       "const_cast",
      "consteval",     "constexpr",   "constinit",
      "continue",      "decltype",    "default",
      "delete",        "do",          "double",
      "dynamic_cast",  "else",        "enum",
      "explicit",      "export",      "extern",
      "false",         "float",       "for",
      "friend",        "goto",        "if",
      "inline",        "int",         "long",
      "mutable",       "namespace",   "new",
      "noexcept",      "not",         "not_eq",
      "nullptr",       "operator",    "or",
      "or_eq",         "private",     "protected",
      "public",        "register",    "reinterpret_cast",
      "requires",      "return",      "short",
      "signed",        "sizeof",      "static",
      "static_assert", "static_cast", "struct",
      "switch",        "template",    "this",
      "thread_local",  "throw",       "true",
      "try",           "typedef",     "typeid",
      "typename",      "union",       "unsigned",
      "using",         "virtual",     "void",
      "volatile",      "wchar_t",     "while",
      "xor",           "xor_eq"};
  // One that is a keyword but for underscores at its end gets one more, so that no two are equal.
  std::string stem = name.substr(0, name.find_last_not_of('_') + 1);
  bool reserved = stem == "dims" || stem == "checks" ||
                  stem == "scalars" ||  // members of arguments
                  std::find(kKeywords.begin(), kKeywords.end(), stem) != kKeywords.end();
  return reserved ? name + "_" : name;
}

std::string CxxName(const Module& module, SymbolId id) {
  const Symbol& symbol = module.symbols[id];
  switch (symbol.kind) {
    case SymbolKind::Const:
      return "k_" + symbol.name;
    case SymbolKind::Dim:
      return "dims." + CxxIdentifier(symbol.name);
    case SymbolKind::Sms:
      return "sms";
    case SymbolKind::Scalar:
      return "args.scalars." + CxxIdentifier(symbol.name);
    case SymbolKind::Index:
    case SymbolKind::RepeatVar:
    case SymbolKind::Let:
      return "i_" + symbol.name;
  }
  ETC_CHECK(!"unknown kind of symbol");
}

std::string_view CxxType(ValueKind kind) {
  switch (kind) {
    case ValueKind::Int:
      return "i64";
    case ValueKind::Float:
      return "float";
    case ValueKind::Bool:
      return "bool";
    case ValueKind::Error:
      break;
  }
  ETC_CHECK(!"an expression without a kind reached emission");
}

std::string CxxType(DType type) {
  return type == DType::F32 ? "float" : std::string(Spelling(type));
}

bool FitsU32(const CxxScope& scope, ExprId expr, int64_t lo) {
  auto bounds = Bounds(scope.module(), expr, scope.intervals(), scope.ranges());
  return bounds && bounds->lo >= lo && bounds->hi <= std::numeric_limits<int32_t>::max();
}

std::string CxxScope::Scalar(SymbolId symbol) const { return CxxName(module_, symbol); }

std::string CxxExpr(const CxxScope& scope, ExprId expr) { return Printer(scope).Print(expr); }

std::string CxxElement(const CxxScope& scope, TensorId tensor, const std::vector<ExprId>& indices) {
  std::string element =
      fmt::format("{}[{}]", scope.Pointer(tensor), CxxOffset(scope, tensor, indices));
  ValueKind kind = KindOf(scope.module().tensors[tensor].type);
  std::string value =
      fmt::format("{}({})", kind == ValueKind::Float ? "ToFloat" : CxxType(kind), element);
  value = scope.Checked(tensor, indices, std::move(value));
  std::string guard = scope.Guard(tensor, indices);
  return guard.empty() ? value : fmt::format("({} ? {} : {}(0))", guard, value, CxxType(kind));
}

std::string CxxConstant(const Module& module, const std::string& name, ExprId value,
                        const DimRanges& ranges) {
  switch (KindOf(module, value)) {
    case ValueKind::Int:
      return fmt::format("constexpr i64 {} = {}LL;", name,
                         EvaluateInt(module, value, {}, ranges).value());
    case ValueKind::Bool:
      return fmt::format("constexpr bool {} = {};", name,
                         EvaluateBool(module, value, {}, ranges).value());
    default:
      return fmt::format("constexpr float {} = float({});", name,
                         EvaluateFloat(module, value, {}, ranges).value());
  }
}

std::string CxxOffset(const CxxScope& scope, TensorId tensor, const std::vector<ExprId>& indices) {
  const Tensor& declared = scope.module().tensors[tensor];
  size_t rank = declared.shape.size();
  // The last two axes of a layout are addressed together; a slice has neither.
  bool tiled = !declared.tile.empty() && indices.size() == rank;
  std::string text;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (tiled && axis == rank - 2) {
      std::string rows = scope.Extent(tensor, axis), columns = scope.Extent(tensor, axis + 1);
      std::string leading =
          text.empty() ? "" : fmt::format("({}) * {} * {} + ", text, rows, columns);
      return fmt::format("{}TileOffset<{}>({}, {}, {})", leading, CxxTile(scope.module(), declared),
                         CxxExpr(scope, indices[axis]), CxxExpr(scope, indices[axis + 1]), columns);
    }
    if (axis > 0 && !text.empty()) {
      text = fmt::format("({}) * {}", text, scope.Extent(tensor, axis));
    }
    if (axis < indices.size()) {
      text += (text.empty() ? "" : " + ") + CxxExpr(scope, indices[axis]);
    }
  }
  return text.empty() ? "0" : text;
}

int64_t TileSize(const Module& module, const Tensor& tensor, size_t axis) {
  auto value = EvaluateInt(module, tensor.tile[axis], {});
  ETC_CHECK(value);
  return *value;
}

std::string CxxTile(const Module& module, const Tensor& tensor) {
  return fmt::format("{}, {}{}", TileSize(module, tensor, 0), TileSize(module, tensor, 1),
                     tensor.swizzled ? fmt::format(", {}", SizeInBytes(tensor.type)) : "");
}

std::string CxxFor(const CxxScope& scope, const Axis& axis) {
  std::string name = CxxName(scope.module(), axis.var);
  std::string end = "end_" + scope.module().symbols[axis.var].name;
  return fmt::format("for (i64 {0} = {1}, {2} = {3}; {0} < {2}; ++{0}) ", name,
                     axis.lo ? CxxExpr(scope, axis.lo) : "0LL", end, CxxExpr(scope, axis.hi));
}

}  // namespace etc
