#include "expand/kernel_options.h"

#include "ir/evaluate.h"
#include "ir/peers.h"
#include "ir/printer.h"
#include "ir/requirements.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// Few and many slots, a pause after each, a start behind what stores, and prefetches.
const std::vector<Throttle>& Throttles() {
  static const std::vector<Throttle> kThrottles = {
      {2, 0},      {3, 0},   {4, 0},      {6, 0},           {2, 600},
      {2, 0, {1}}, {3, 700}, {4, 0, {1}}, {4, 0, {}, 1400},
  };
  return kThrottles;
}

/// In front of all that may be taken: to leave it to the pass.
constexpr ScheduleKind kSchedules[] = {ScheduleKind::Auto, ScheduleKind::Static,
                                       ScheduleKind::Kernels, ScheduleKind::Drain,
                                       ScheduleKind::Dynamic};

Question KernelQuestion(const Module& module, const Graph& graph, const DimRanges& sizes) {
  Question question;
  question.function = SourceName(graph);
  for (const auto& [dim, range] : sizes) {
    question.range[module.symbols[dim].name] = range;
  }
  for (SymbolId dim : DimsOf(module)) {
    const std::optional<Interval> declared = RangeOfDim(module, dim);
    if (declared && !sizes.contains(dim)) {
      question.bounds[module.symbols[dim].name] = *declared;
    }
  }
  for (TensorId param : graph.params) {
    for (ExprId extent : module.tensors[param].shape) {
      VisitExprs(module, extent, [&](ExprId id) {
        const auto* ref = std::get_if<SymbolRef>(&module.exprs[id]);
        if (ref == nullptr || module.symbols[ref->symbol].kind != SymbolKind::Const) {
          return;
        }
        if (auto value = EvaluateInt(module, id, {}, {})) {
          question.shape[module.symbols[ref->symbol].name] = *value;
        }
      });
    }
  }
  // What pays on several ranks need not pay on one. Many numbers of ranks have one program.
  if (module.mesh && module.mesh->values.size() == 1 && module.mesh->values.front() > 1) {
    question.shape[module.symbols[module.mesh->size].name] = module.mesh->values.front();
  }
  return question;
}

}  // namespace

std::vector<Option> OptionsOfKernels(std::string_view parameter) {
  std::vector<Option> options;
  if (parameter == kSchedule) {
    for (ScheduleKind kind : kSchedules) {
      options.push_back({std::string(Spelling(kind)), static_cast<int64_t>(kind)});
    }
  } else if (parameter == kLoader) {
    options.push_back({std::string(kByRule), 0});
    for (const Throttle& throttle : Throttles()) {
      options.push_back({Print(throttle), static_cast<int64_t>(options.size())});
    }
  }
  return options;
}

std::optional<Throttle> LoaderThrottle(const Option& option) {
  return option.value == 0 ? std::nullopt
                           : std::optional(Throttles()[static_cast<size_t>(option.value) - 1]);
}

std::optional<ScheduleKind> ScheduleOption(const Option& option) {
  auto kind = static_cast<ScheduleKind>(option.value);
  return kind == ScheduleKind::Auto ? std::nullopt : std::optional(kind);
}

Question LoaderQuestion(const Module& module, const Graph& graph, const DimRanges& sizes) {
  Question question = KernelQuestion(module, graph, sizes);
  question.parameter = kLoader;
  question.by_formula = kByRule;
  question.options = OptionsOfKernels(kLoader);
  return question;
}

Question ScheduleQuestion(const Module& module, const Graph& graph, const DimRanges& sizes) {
  Question question = KernelQuestion(module, graph, sizes);
  question.parameter = kSchedule;
  question.by_formula = Spelling(ScheduleKind::Auto);
  question.options = OptionsOfKernels(kSchedule);
  std::erase_if(question.options, [&](const Option& option) {
    return module.mesh && !FitsMesh(static_cast<ScheduleKind>(option.value));
  });
  return question;
}

Question ConstantQuestion(const Module& module, const Graph& graph, const DimRanges& sizes,
                          SymbolId constant) {
  Question question = KernelQuestion(module, graph, sizes);
  question.parameter = module.symbols[constant].name;
  return question;
}

std::vector<TunedSchedule> TunedSchedules(const std::vector<Decision>& decisions) {
  std::vector<TunedSchedule> tuned;
  for (const Decision& decision : decisions) {
    const std::optional<Answer>& over = decision.passed_over;
    const Answer& answer = over ? *over : decision.answer;
    if (decision.question.parameter != kSchedule || answer.by == Decider::Pin) {
      continue;
    }
    for (const Option& option : decision.question.options) {
      const std::optional<ScheduleKind> kind = ScheduleOption(option);
      if (kind && option.name == answer.option) {
        tuned.push_back({decision.graph, decision.where, *kind});
      }
    }
  }
  return tuned;
}

}  // namespace etc
