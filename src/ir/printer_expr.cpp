#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ir/printer.h"
#include "ir/printer_impl.h"
#include "ir/shard.h"
#include "support/diagnostics.h"
#include "support/unique_name.h"

namespace etc {
namespace {

constexpr int kSum = 9;
constexpr int kProduct = 10;
constexpr int kUnary = 11;

bool IsNegative(double value) { return std::signbit(value); }

}  // namespace

void PrintNames::Declare(SymbolId id) {
  symbols_[id] = UniqueName(module_.symbols[id].name, taken_.scalars);
}

void PrintNames::Declare(TensorId id) {
  tensors_[id] = UniqueName(module_.tensors[id].name, taken_.tensors);
}

void PrintNames::Declare(EventId id) {
  events_[id] = UniqueName(module_.events[id].name, taken_.tensors);
}

std::string PrintNames::Of(SymbolId id) const {
  auto it = symbols_.find(id);
  return it == symbols_.end() ? module_.symbols[id].name : it->second;
}

std::string PrintNames::Of(TensorId id) const {
  auto it = tensors_.find(id);
  return "%" + (it == tensors_.end() ? module_.tensors[id].name : it->second);
}

std::string PrintNames::Of(EventId id) const {
  auto it = events_.find(id);
  return "%" + (it == events_.end() ? module_.events[id].name : it->second);
}

std::string FloatText(double value) {
  ETC_CHECK(!std::isnan(value));
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  std::string text = fmt::format("{}", value);
  size_t exponent = text.find('e');
  if (exponent == std::string::npos) {
    return text.find('.') == std::string::npos ? text + ".0" : text;
  }
  size_t digits = text.find_first_not_of("+-0", exponent + 1);
  bool small = text[exponent + 1] == '-';
  return text.substr(0, exponent + 1) + (small ? "-" : "") + text.substr(digits);
}

std::string ExprPrinter::Print(ExprId id, Context context) const {
  struct Visitor {
    const ExprPrinter& printer;
    Context context;

    std::string Signed(bool negative, const std::string& text) const {
      return negative && context.least_precedence > kUnary ? "(" + text + ")" : text;
    }
    std::string operator()(const IntLiteral& literal) const {
      if (literal.value == std::numeric_limits<int64_t>::min()) {
        // Its magnitude is no integer of the language.
        std::string text = fmt::format("{} - 1", literal.value + 1);
        return context.least_precedence > kSum ? "(" + text + ")" : text;
      }
      return Signed(literal.value < 0, fmt::format("{}", literal.value));
    }
    std::string operator()(const FloatLiteral& literal) const {
      return Signed(IsNegative(literal.value), FloatText(literal.value));
    }
    std::string operator()(const BoolLiteral& literal) const {
      return literal.value ? "true" : "false";
    }
    std::string operator()(const SymbolRef& ref) const { return printer.names_.Of(ref.symbol); }
    std::string operator()(const Load& load) const {
      return printer.Element(load.tensor, load.indices);
    }
    std::string operator()(const Cast& cast) const {
      return fmt::format("{}({})", Spelling(cast.type), printer.Expr(cast.operand));
    }
    std::string operator()(const Unary& unary) const {
      // One above kUnary: a sign below a sign gets parentheses.
      Context inner{kUnary + 1, context.followed, context.no_greater};
      std::string text =
          fmt::format("{}{}", Spelling(unary.op), printer.Print(unary.operand, inner));
      return context.least_precedence > kUnary ? "(" + text + ")" : text;
    }
    std::string operator()(const Binary& binary) const {
      return printer.PrintBinary(binary, context);
    }
    std::string operator()(const Call& call) const {
      return fmt::format("{}({})", Spelling(call.op), printer.List(call.args));
    }
    std::string operator()(const Reduce& reduce) const {
      return printer.PrintReduce(reduce, context);
    }
  };
  auto application = module_.applications.find(id);
  return application != module_.applications.end()
             ? Print(application->second)
             : std::visit(Visitor{*this, context}, module_.exprs[id]);
}

/// As it was written: the name of the function and its arguments.
std::string ExprPrinter::Print(const Application& application) const {
  std::string args = Listed(application.args, [&](const auto& arg) {
    const auto* value = std::get_if<ExprId>(&arg);
    return value != nullptr ? Expr(*value) : Text(std::get<Argument>(arg));
  });
  return fmt::format("{}({})", module_.functions[application.function].name, args);
}

std::string ExprPrinter::PrintBinary(const Binary& binary, Context context) const {
  int precedence = Precedence(binary.op);
  bool greater =
      binary.op == BinaryOp::Gt || binary.op == BinaryOp::Ge || binary.op == BinaryOp::Shr;
  bool parentheses = precedence < context.least_precedence || (greater && context.no_greater);
  if (parentheses) {
    context.followed = false;
    context.no_greater = false;
  }
  Context left{precedence, context.followed || precedence == kProduct, context.no_greater};
  Context right{precedence + 1, context.followed, context.no_greater};
  std::string text = fmt::format("{} {} {}", Print(binary.left, left), Spelling(binary.op),
                                 Print(binary.right, right));
  return parentheses ? "(" + text + ")" : text;
}

std::string ExprPrinter::PrintReduce(const Reduce& reduce, Context context) const {
  bool parentheses = context.followed;
  if (parentheses) {
    context.no_greater = false;
  }
  PrintNames::State state = names_.Save();
  std::string axes = Axes(reduce.axes);
  Context inner{kProduct, false, context.no_greater};
  std::string text = fmt::format("{}{} {}", Spelling(reduce.op), axes, Print(reduce.body, inner));
  names_.Restore(std::move(state));
  return parentheses ? "(" + text + ")" : text;
}

std::string ExprPrinter::List(const std::vector<ExprId>& exprs) const {
  return Listed(exprs, [&](ExprId expr) { return expr ? Expr(expr) : "*"; });
}

std::string ExprPrinter::Interval(ExprId lo, ExprId hi) const {
  std::string from = Expr(lo);
  std::string to = Expr(hi);
  bool short_words = (from + to).find_first_of(" ([") == std::string::npos;
  return short_words ? from + ".." + to : from + " .. " + to;
}

std::string ExprPrinter::OneAxis(const Axis& axis) const {
  std::string bounds = axis.lo ? Interval(axis.lo, axis.hi) : Expr(axis.hi);
  names_.Declare(axis.var);
  return fmt::format("{}: {}", names_.Of(axis.var), bounds);
}

std::string ExprPrinter::Axes(const std::vector<Axis>& axes) const {
  return "(" + Listed(axes, [&](const Axis& axis) { return OneAxis(axis); }) + ")";
}

std::string ExprPrinter::Element(TensorId tensor, const std::vector<ExprId>& indices,
                                 ExprId peer) const {
  return fmt::format("{}{}[{}]", names_.Of(tensor), Peer(peer), List(indices));
}

std::string ExprPrinter::Arguments(const std::vector<Argument>& args,
                                   const std::vector<ExprId>& scalars) const {
  std::string list = Listed(args, [&](const Argument& arg) { return Text(arg); });
  return fmt::format("({}{}{})", list, list.empty() || scalars.empty() ? "" : ", ", List(scalars));
}

std::string ExprPrinter::Text(const Argument& arg) const {
  return arg.indices.empty() ? names_.Of(arg.tensor) : Element(arg.tensor, arg.indices);
}

std::string ExprPrinter::Generics(const std::vector<GenericArg>& generics) const {
  std::string list = Listed(generics, [&](const GenericArg& arg) {
    return arg.name + " = " + ExprWithoutGreater(arg.value);
  });
  return list.empty() ? "" : "<" + list + ">";
}

std::string ExprPrinter::Pins(const std::vector<Pin>& pins) const {
  std::string list = Listed(pins, [&](const Pin& pin) {
    return pin.name + " = " + (pin.value ? Expr(pin.value) : pin.alternative);
  });
  return list.empty() ? "" : "[" + list + "]";
}

std::string ExprPrinter::Choose(const Choice& choice) const {
  std::string values = Listed(choice.values, [&](const ChoiceValues& one) {
    std::string multiple = one.multiple ? " multiple " + Expr(one.multiple) : "";
    return one.hi ? Interval(one.lo, one.hi) + multiple : Expr(one.lo);
  });
  std::string condition =
      choice.condition ? " when " + ExprWithoutGreater(choice.condition) : std::string();
  return fmt::format("choose ({}){}", values, condition);
}

std::string ExprPrinter::Type(const Tensor& tensor) const {
  std::string layout = tensor.tile.empty() ? ""
                                           : fmt::format(" layout tile({}{})", List(tensor.tile),
                                                         tensor.swizzled ? ", swizzle" : "");
  auto extent = [&](size_t i) {
    bool named = !tensor.indices.empty() && tensor.indices[i];
    if (tensor.shard == i) {
      std::string parts = tensor.in_parts ? " in " + Expr(PartsOf(module_, tensor)) : "";
      return "shard " + Expr(WholeExtent(module_, tensor)) + parts;
    }
    return named ? OneAxis({tensor.indices[i], {}, tensor.shape[i]}) : Expr(tensor.shape[i]);
  };
  std::string array = tensor.array ? fmt::format("array[{}] of ", extent(0)) : "";
  std::string extents;
  for (size_t i = tensor.array ? 1 : 0; i < tensor.shape.size(); ++i) {
    extents += (extents.empty() ? "" : ", ") + extent(i);
  }
  return fmt::format("{}{}[{}]{}", array, Spelling(tensor.type), extents, layout);
}

std::string ExprPrinter::Ref(const EventRef& ref) const {
  PrintNames::State state = names_.Save();
  std::string axes = ref.axes.empty() ? "" : " for " + Axes(ref.axes);
  std::string indices = Listed(ref.indices, [&](const EventIndex& index) {
    return index.all ? "*" : index.hi ? Interval(index.lo, index.hi) : Expr(index.lo);
  });
  std::string text = names_.Of(ref.event) + Peer(ref.peer);
  text += indices.empty() ? "" : "[" + indices + "]";
  text += axes;
  text += ref.guard ? " if " + Expr(ref.guard) : "";
  names_.Restore(std::move(state));
  return text;
}

std::string ExprPrinter::EventHead(const Event& event) const {
  PrintNames::State state = names_.Save();
  std::string dims = Listed(event.dims, [&](const EventDim& dim) {
    return dim.var ? OneAxis({dim.var, {}, dim.extent}) : Expr(dim.extent);
  });
  std::string text = event.dims.empty() ? "" : "[" + dims + "]";
  text += " count " + Expr(event.count);
  names_.Restore(std::move(state));
  return text;
}

std::string ExprPrinter::Check(const etc::Check& check) const {
  PrintNames::State state = names_.Save();
  std::string checked = Text(Argument{check.tensor, check.slice});
  if (!check.slice.empty()) {
    checked = "(" + checked + ")";
  }
  std::string counted = check.counts_slice.empty()
                            ? ""
                            : Listed(check.counts_slice, [&](ExprId index) { return Expr(index); });
  std::vector<std::string> axes(check.leading, "*");
  for (SymbolId index : check.indices) {
    names_.Declare(index);
    axes.push_back(names_.Of(index));
  }
  std::string text = fmt::format("check {}{}{}{};", checked,
                                 axes.empty() ? "" : fmt::format("[{}]", fmt::join(axes, ", ")),
                                 Precondition(check), counted.empty() ? "" : "[" + counted + "]");
  names_.Restore(std::move(state));
  return text;
}

std::string Print(const Module& module, ExprId expr) {
  PrintNames names(module);
  return ExprPrinter(module, names).Expr(expr);
}

std::string Print(const Module& module, const EventRef& ref) {
  PrintNames names(module);
  return ExprPrinter(module, names).Ref(ref);
}

}  // namespace etc
