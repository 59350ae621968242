#include "ir/printer.h"

#include <fmt/format.h>

#include "ir/printer_blocks.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

class Printer {
 public:
  explicit Printer(const Module& module)
      : module_(module), names_(module), text_(module, names_), layout_(module) {}

  std::string Run() {
    names_.Declare(module_.sms);
    layout_.Before(module_.header);
    layout_.Line("etir 1;");
    layout_.After(module_.header);
    for (size_t i = 0; i < module_.items.size(); ++i) {
      const Item& item = module_.items[i];
      std::visit([this](const auto& part) { Top(part); }, item);
      if (const auto* import = std::get_if<ImportId>(&item)) {
        i += module_.imports[*import].items;
      }
    }
    layout_.BeforeTheEnd();
    return layout_.Take();
  }

 private:
  // The top level.
  void Top(ImportId id) {
    const Import& import = module_.imports[id];
    StartItem(import.range, false);
    layout_.Line(fmt::format("import \"{}\";", import.path));
    layout_.After(import.range);
  }

  void Top(FunctionId id) {
    const Function& function = module_.functions[id];
    StartItem(function.range, false);
    PrintNames::State state = names_.Save();
    std::string params = Listed(function.params, [&](const auto& param) {
      return std::visit(
          [&](auto one) {
            names_.Declare(one);
            return names_.Of(one);
          },
          param);
    });
    layout_.Line(fmt::format("fn {}({}) = {};", function.name, params, text_.Expr(function.body)));
    layout_.After(module_.RangeOf(function.body));
    names_.Restore(std::move(state));
  }

  void Top(SymbolId id) {
    const Symbol& symbol = module_.symbols[id];
    StartItem(symbol.range, false);
    if (symbol.kind == SymbolKind::Const || symbol.kind == SymbolKind::Let) {
      std::string value = text_.Expr(symbol.value);
      names_.Declare(id);
      const char* word = symbol.kind == SymbolKind::Const ? "const" : "let";
      layout_.Line(fmt::format("{} {}{} = {};", word, names_.Of(id), ChoiceText(id), value));
      layout_.After(module_.RangeOf(symbol.value));
    } else if (module_.mesh && module_.mesh->size == id) {
      names_.Declare(id);
      names_.Declare(module_.rank);
      layout_.Line(
          fmt::format("mesh {} = {};", names_.Of(id), fmt::join(module_.mesh->values, ", ")));
      layout_.After(module_.mesh->range);
    } else {
      std::string interval = text_.Interval(symbol.lo, symbol.hi);
      std::string multiple = symbol.multiple ? " multiple " + text_.Expr(symbol.multiple) : "";
      names_.Declare(id);
      layout_.Line(fmt::format("dim {} in {}{};", names_.Of(id), interval, multiple));
      layout_.After(module_.RangeOf(symbol.multiple ? symbol.multiple : symbol.hi));
    }
  }

  void Top(const Require& require) {
    StartItem(module_.RangeOf(require.condition), false);
    layout_.Line(fmt::format("require {};", text_.Expr(require.condition)));
    layout_.After(module_.RangeOf(require.condition));
  }

  void Top(ConfigMemberId id) {
    const ConfigMember& member = module_.config_members[id];
    StartItem(member.range, false);
    layout_.Line(
        fmt::format("config {} \"{}\";", member.name, fmt::join(member.values, "\" or \"")));
    layout_.After(member.range);
  }

  void Top(DeviceId id) {
    const Device& device = module_.devices[id];
    StartItem(device.range, true);
    PrintNames::State state = names_.Save();
    std::string generics = Generics(device.generics);
    std::vector<ParamText> params = Params(device.params);
    for (SymbolId scalar : device.scalars) {
      params.push_back({Scalar(scalar), module_.symbols[scalar].range});
    }
    Head(fmt::format("device @{}{}", device.name, generics), params, device.braces,
         [&] { return " tasks " + text_.Axes(device.tasks); });
    for (const Impl& impl : device.impls) {
      Print(impl);
    }
    BodyPrinter(module_, names_, text_, layout_).Statements(device.body);
    layout_.Close(device.braces);
    names_.Restore(std::move(state));
  }

  void Top(GraphId id) {
    const Graph& graph = module_.graphs[id];
    StartItem(graph.range, true);
    PrintNames::State state = names_.Save();
    std::string generics = Generics(graph.generics);
    std::vector<ParamText> params = Params(graph.params);
    Head(fmt::format("graph @{}{}", graph.name, generics), params, graph.braces, [&] {
      std::string tail = (graph.of.empty() ? "" : " of @" + graph.of) +
                         ScheduleText(graph.schedule) + WhereText(graph.where);
      for (const Specialisation& one : graph.specialisations) {
        std::string ranges = Listed(
            one.ranges, [&](const DimRange& range) { return text_.Interval(range.lo, range.hi); });
        bool first = &one == &graph.specialisations.front();
        tail += fmt::format("{}{}: {}", first ? " specialise (" : "; ", names_.Of(one.dim), ranges);
      }
      return tail + (graph.specialisations.empty() ? "" : ")");
    });
    NodePrinter(module_, names_, text_, layout_, false).Nodes(graph.body);
    for (const Alternative& alternative : graph.alternatives) {
      Print(alternative);
    }
    layout_.Close(graph.braces);
    names_.Restore(std::move(state));
  }

  void Print(const Alternative& alternative) {
    PrintNames::State state = names_.Save();
    layout_.Before(alternative.range);
    auto condition = [&](const char* word, ExprId id) {
      return id ? fmt::format(" {} {}", word, text_.Expr(id)) : std::string();
    };
    layout_.Open(fmt::format("alternative {}{}{}", alternative.name,
                             condition("when", alternative.condition),
                             condition("prefer", alternative.preference)));
    NodePrinter(module_, names_, text_, layout_, false).Nodes(alternative.body);
    layout_.Close(alternative.braces);
    names_.Restore(std::move(state));
  }

  void Top(KernelId id) {
    const Kernel& kernel = module_.kernels[id];
    StartItem(kernel.range, true);
    layout_.KeepBehind(true);
    PrintNames::State state = names_.Save();
    Head(fmt::format("kernel @{}", kernel.name), Params(kernel.params), kernel.braces, [&] {
      return fmt::format(" of @{} {}{}", kernel.graph, Spelling(kernel.schedule),
                         WhereText(kernel.where));
    });
    layout_.Line(
        fmt::format("launch consumers {} shared {};", kernel.consumer_warps, kernel.shared_bytes));
    bool launches = kernel.schedule == ScheduleKind::Kernels;
    NodePrinter nodes(module_, names_, text_, layout_, launches);
    if (kernel.throttle) {
      nodes.Loader(*kernel.throttle, kernel.depth ? fmt::format("depth {} ", *kernel.depth) : "");
    }
    for (const Check& check : kernel.checks) {
      layout_.Before(check.range);
      layout_.Line(text_.Check(check));
      layout_.After(check.range);
    }
    if (kernel.check_accesses) {
      layout_.Before(*kernel.check_accesses);
      layout_.Line("check accesses;");
      layout_.After(*kernel.check_accesses);
    }
    if (kernel.watchdog) {
      layout_.Before(kernel.watchdog->range);
      layout_.Line(fmt::format("watchdog {};", kernel.watchdog->seconds));
      layout_.After(kernel.watchdog->range);
    }
    if (kernel.profile) {
      layout_.Before(kernel.profile->range);
      layout_.Line(fmt::format("profile {};", text_.Expr(kernel.profile->spans)));
      layout_.After(kernel.profile->range);
    }
    for (SymbolId id : kernel.values) {
      const Symbol& symbol = module_.symbols[id];
      layout_.Before(symbol.range);
      std::string value = text_.Expr(symbol.value);
      names_.Declare(id);
      layout_.Line(fmt::format("let {} = {};", names_.Of(id), value));
      layout_.After(symbol.range);
    }
    nodes.Nodes(kernel.declarations);
    layout_.Before(kernel.sm_braces);
    layout_.Open(launches ? "on stream" : "on sm");
    nodes.Nodes(kernel.body);
    layout_.Close(kernel.sm_braces);
    layout_.Close(kernel.braces);
    layout_.KeepBehind(false);
    names_.Restore(std::move(state));
  }

  /// Functions stand apart; constants and dimensions as the source has them.
  void StartItem(SourceRange range, bool function) {
    if (function || after_function_) {
      layout_.Separate();
    }
    layout_.Before(range);
    after_function_ = function;
  }

  std::string Generics(const std::vector<SymbolId>& generics) {
    std::string list = Listed(generics, [&](SymbolId id) {
      ExprId value = module_.symbols[id].value;
      names_.Declare(id);
      return names_.Of(id) + ChoiceText(id) +
             (value ? " = " + text_.ExprWithoutGreater(value) : "");
    });
    return list.empty() ? "" : "<" + list + ">";
  }

  /// `: choose (8, 16)` where the symbol is left open.
  std::string ChoiceText(SymbolId id) const {
    auto choice = module_.choices.find(id);
    return choice == module_.choices.end() ? "" : ": " + text_.Choose(choice->second);
  }

  struct ParamText {
    std::string text;
    SourceRange range;
  };

  std::vector<ParamText> Params(const std::vector<TensorId>& params) {
    std::vector<ParamText> texts;
    for (TensorId id : params) {
      texts.push_back({Param(id), module_.tensors[id].range});
    }
    return texts;
  }

  /// `kind @name(params)tail {`, with a line for each parameter where one line is too short. The
  /// tail may use the parameters.
  template <class Tail>
  void Head(const std::string& name, const std::vector<ParamText>& params, SourceRange braces,
            Tail tail) {
    std::string end = ")" + tail();
    std::string list = Listed(params, [](const ParamText& param) { return param.text; });
    std::string line = fmt::format("{}({}{} {{", name, list, end);
    bool commented = layout_.HasCommentBefore(braces.begin);
    if (layout_.Fits(line) && !commented) {
      layout_.Verbatim(line);
      layout_.After({0, braces.begin});
      layout_.Indent();
      return;
    }
    layout_.Line(name + "(");
    layout_.Indent();
    for (size_t i = 0; i < params.size(); ++i) {
      layout_.Before(params[i].range);
      layout_.Line(params[i].text + (i + 1 < params.size() ? "," : ""));
    }
    layout_.Before(braces);
    layout_.Outdent();
    layout_.Open(end);
  }

  std::string Param(TensorId id) {
    const Tensor& tensor = module_.tensors[id];
    std::string_view access = tensor.access == Access::Out     ? "out "
                              : tensor.access == Access::InOut ? "inout "
                                                               : "";
    PrintNames::State state = names_.Save();
    std::string type = text_.Type(tensor);
    std::string precondition = text_.Precondition(tensor);
    std::string present = tensor.present ? " if " + text_.Expr(tensor.present) : "";
    names_.Restore(std::move(state));
    names_.Declare(id);
    return fmt::format("{}: {}{}{}{}{}{}", names_.Of(id), access,
                       tensor.symmetric ? "symmetric " : "", type, precondition, present,
                       Sources(tensor));
  }

  std::string Sources(const Tensor& tensor) const {
    std::string text;
    for (const WeightSource& source : tensor.sources) {
      text += fmt::format(" {} \"{}\"", text.empty() ? "from" : "or", source.name);
      std::string ranges = Listed(source.ranges, [&](const AxisRange& range) {
        return range.lo ? text_.Interval(range.lo, range.hi) + " of " + text_.Expr(range.extent)
               : range.extent ? text_.Expr(range.extent) + " padded"
                              : std::string("*");
      });
      text += ranges.empty() ? "" : "[" + ranges + "]";
    }
    return text;
  }

  std::string WhereText(const std::vector<Where>& where) const {
    std::string ranges = Listed(where, [&](const Where& one) {
      return names_.Of(one.dim) + " in " + text_.Interval(one.lo, one.hi);
    });
    return ranges.empty() ? "" : " where (" + ranges + ")";
  }

  std::string Scalar(SymbolId id) {
    const Symbol& symbol = module_.symbols[id];
    std::string range = symbol.lo ? " in " + text_.Interval(symbol.lo, symbol.hi) : "";
    std::string present = symbol.present ? " if " + text_.Expr(symbol.present) : "";
    names_.Declare(id);
    return fmt::format("{}: {}{}{}", names_.Of(id), Spelling(symbol.type), range, present);
  }

  void Print(const Impl& impl) {
    layout_.Before(impl.range);
    if (impl.header.empty()) {
      layout_.Verbatim(fmt::format("impl {} cuda \"\"\"{}\"\"\";", impl.arch, impl.text));
      layout_.After(impl.range);
      return;
    }
    std::string args = Listed(impl.args, [&](const ImplArg& arg) {
      return arg.name + " = " + (arg.value ? text_.ExprWithoutGreater(arg.value) : "'" + arg.word);
    });
    std::string boxes = Listed(impl.boxes, [&](const Box& box) {
      return fmt::format("{}[{}, {}]", names_.Of(box.tensor), text_.Expr(box.rows),
                         text_.Expr(box.columns));
    });
    std::string condition = impl.flagged_if ? " if " + text_.Expr(impl.flagged_if) : "";
    layout_.Line(fmt::format(
        "impl {} \"{}\" {}{}{}{}{}{}{}{};", impl.arch, impl.header, impl.name,
        args.empty() ? "" : "<" + args + ">", Operands(" preloaded", impl.preloaded),
        Operands(" fetched", impl.fetched), Operands(" flagged", impl.flagged), condition,
        Operands(" phased", impl.phased), boxes.empty() ? "" : " boxes (" + boxes + ")"));
    layout_.After(impl.range);
  }

  std::string Operands(const char* word, const std::vector<TensorId>& tensors) const {
    std::string names = Listed(tensors, [&](TensorId tensor) { return names_.Of(tensor); });
    return names.empty() ? "" : fmt::format("{} ({})", word, names);
  }

  const Module& module_;
  PrintNames names_;
  ExprPrinter text_;
  PrintLayout layout_;
  bool after_function_ = false;
};

}  // namespace

std::string Print(const Module& module) { return Printer(module).Run(); }

}  // namespace etc
