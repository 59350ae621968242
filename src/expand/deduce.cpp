#include "expand/deduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "expand/presence.h"
#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/walk.h"

namespace etc {
namespace {

class Deduction {
 public:
  Deduction(Module& module, const Callee& callee, const CallNode& call, SourceRange range,
            Choosing& choosing, Diagnostics& diagnostics)
      : module_(module),
        callee_(callee),
        call_(call),
        range_(range),
        choosing_(choosing),
        diagnostics_(diagnostics) {}

  std::optional<Deduced> Run() {
    size_t before = diagnostics_.error_count();
    TakeGiven();
    std::optional<std::vector<TensorId>> params =
        PresentParams(module_, callee_.name, callee_.params, WithDefaults(), range_, diagnostics_);
    if (!params) {
      return std::nullopt;
    }
    params_ = std::move(*params);
    if (call_.args.size() != params_.size()) {
      OtherNumber();
      return std::nullopt;
    }
    for (SymbolId generic : callee_.generics) {
      if (values_.contains(generic)) {
        continue;
      }
      if (module_.choices.contains(generic)) {
        Decide(generic, before);
        continue;
      }
      std::vector<Extent> extents = ExtentsOf(generic);
      ReportOdd(generic, extents);
      ExprId value = extents.empty() ? ExprId{} : extents.front().value;
      if (!value && module_.symbols[generic].value) {
        value = Clone(module_, module_.symbols[generic].value, values_);
      }
      if (value) {
        values_[generic] = value;
      } else {
        Missing(generic);
      }
    }
    if (diagnostics_.error_count() > before) {
      return std::nullopt;
    }
    return Deduced{std::move(values_), std::move(params_)};
  }

 private:
  /// What is known before any argument is looked at.
  Substitution WithDefaults() {
    Substitution values = values_;
    for (SymbolId generic : callee_.generics) {
      if (!values.contains(generic) && module_.symbols[generic].value) {
        values[generic] = Clone(module_, module_.symbols[generic].value, values);
      }
    }
    return values;
  }

  /// After an error its formula stands for a choice, which others may follow from.
  void Decide(SymbolId choice, size_t errors_before) {
    ExprId value;
    if (diagnostics_.error_count() == errors_before) {
      value = choosing_.Value(callee_, call_, choice, values_, range_);
    }
    values_[choice] = value ? value : Clone(module_, module_.symbols[choice].value, values_);
  }

  void TakeGiven() {
    for (const GenericArg& arg : call_.generics) {
      auto named = [&](SymbolId id) { return module_.symbols[id].name == arg.name; };
      auto found = std::find_if(callee_.generics.begin(), callee_.generics.end(), named);
      if (found == callee_.generics.end()) {
        diagnostics_
            .Error(DiagnosticKind::Argument, arg.range,
                   fmt::format("`@{}` has no generic parameter `{}`", callee_.name, arg.name))
            .notes.push_back({callee_.range, "it is defined here"});
      } else if (module_.choices.contains(*found)) {
        diagnostics_
            .Error(DiagnosticKind::Choice, arg.range,
                   fmt::format("`{0}` of `@{1}` is a choice, which the meaning does not depend on; "
                               "pin it in brackets: `@{1}[{0} = …]`",
                               arg.name, callee_.name))
            .notes.push_back({module_.symbols[*found].range, "it is declared here"});
        values_.emplace(*found, arg.value);
      } else if (!values_.emplace(*found, arg.value).second) {
        diagnostics_.Error(DiagnosticKind::Argument, arg.range,
                           fmt::format("`{}` is given twice", arg.name));
      }
    }
  }

  /// An extent of an argument, where the parameter's is the name of a generic parameter alone.
  struct Extent {
    size_t argument;
    size_t axis;
    ExprId value;
  };

  std::vector<Extent> ExtentsOf(SymbolId generic) const {
    std::vector<Extent> extents;
    for (size_t i = 0; i < std::min(params_.size(), call_.args.size()); ++i) {
      const std::vector<ExprId>& shape = module_.tensors[params_[i]].shape;
      std::vector<ExprId> given = ShapeOf(module_, call_.args[i]);
      for (size_t axis = 0; axis < std::min(shape.size(), given.size()); ++axis) {
        if (IsSymbol(module_, shape[axis], generic)) {
          extents.push_back({i, axis, given[axis]});
        }
      }
    }
    return extents;
  }

  /// Where arguments disagree in numbers, the one is wrong that has another than most, of as many
  /// the later one. Sizes that are no numbers yet are compared when all of the call is known.
  void ReportOdd(SymbolId generic, const std::vector<Extent>& extents) {
    std::map<int64_t, std::vector<const Extent*>> by_number;
    for (const Extent& extent : extents) {
      if (auto number = EvaluateInt(module_, extent.value, {})) {
        by_number[*number].push_back(&extent);
      }
    }
    if (by_number.size() < 2) {
      return;
    }
    auto rank = [](const auto& group) {
      return std::pair(group.second.size(), -static_cast<int64_t>(group.second[0]->argument));
    };
    auto most = std::ranges::max_element(by_number, {}, rank);
    auto odd = std::ranges::min_element(by_number, {}, rank);
    std::vector<std::string> names;
    for (const Extent* extent : most->second) {
      std::string name = fmt::format("`%{}`", NameOf(*extent));
      if (std::ranges::find(names, name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
    const Extent& wrong = *odd->second.front();
    Diagnostic& error = diagnostics_.Error(
        DiagnosticKind::Shape, call_.args[wrong.argument].range,
        fmt::format("dimension {} of `%{}` is {}, but `{}` of `@{}` is {} by {}", wrong.axis,
                    NameOf(wrong), odd->first, module_.symbols[generic].name, callee_.name,
                    most->first, fmt::join(names, " and ")));
    error.notes.push_back(
        {module_.tensors[params_[wrong.argument]].range, "the parameter is declared here"});
  }

  const std::string& NameOf(const Extent& extent) const {
    return module_.tensors[call_.args[extent.argument].tensor].name;
  }

  /// Says which tensors there are, and for which of them a condition is why.
  void OtherNumber() {
    std::string names;
    for (TensorId id : params_) {
      const Tensor& param = module_.tensors[id];
      names += fmt::format("{}`%{}`", names.empty() ? "" : ", ", param.name);
      names += param.present ? fmt::format(" (`if {}`)", Print(module_, param.present)) : "";
    }
    diagnostics_
        .Error(DiagnosticKind::Argument, range_,
               fmt::format("`@{}` takes {} tensor{}, found {}", callee_.name, params_.size(),
                           params_.size() == 1 ? "" : "s", call_.args.size()))
        .notes.push_back({callee_.range, fmt::format("here it takes {}", names)});
  }

  void Missing(SymbolId generic) {
    const std::string& name = module_.symbols[generic].name;
    diagnostics_
        .Error(DiagnosticKind::Argument, range_,
               fmt::format("`{}` of `@{}` follows from no argument; give it: `@{}<{} = …>`", name,
                           callee_.name, callee_.name, name))
        .notes.push_back({module_.symbols[generic].range, "it is declared here"});
  }

  Module& module_;
  const Callee& callee_;
  const CallNode& call_;
  SourceRange range_;
  Choosing& choosing_;
  Diagnostics& diagnostics_;
  Substitution values_;
  std::vector<TensorId> params_;  // of the callee, those that there are
};

}  // namespace

std::vector<ExprId> ShapeOf(const Module& module, const Argument& argument) {
  const std::vector<ExprId>& shape = module.tensors[argument.tensor].shape;
  std::vector<ExprId> extents;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis >= argument.indices.size() || !argument.indices[axis]) {
      extents.push_back(shape[axis]);
    }
  }
  return extents;
}

std::optional<Deduced> Deduce(Module& module, const Callee& callee, const CallNode& call,
                              SourceRange range, Choosing& choosing, Diagnostics& diagnostics) {
  return Deduction(module, callee, call, range, choosing, diagnostics).Run();
}

}  // namespace etc
