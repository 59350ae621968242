#include "expand/loader_options.h"

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// Few and many slots, a pause after each, and a start behind what stores.
const std::vector<Throttle>& Throttles() {
  static const std::vector<Throttle> kThrottles = {{2, 0},   {3, 0},      {4, 0},   {6, 0},
                                                   {2, 600}, {2, 0, {1}}, {3, 700}, {4, 0, {1}}};
  return kThrottles;
}

}  // namespace

const std::vector<Option>& LoaderOptions() {
  static const std::vector<Option> kOptions = [] {
    std::vector<Option> options = {{std::string(kByRule), 0}};
    for (const Throttle& throttle : Throttles()) {
      options.push_back({Print(throttle), static_cast<int64_t>(options.size())});
    }
    return options;
  }();
  return kOptions;
}

std::optional<Throttle> LoaderThrottle(const Option& option) {
  return option.value == 0 ? std::nullopt
                           : std::optional(Throttles()[static_cast<size_t>(option.value) - 1]);
}

Question LoaderQuestion(const Module& module, const Graph& graph, const DimRanges& sizes) {
  Question question;
  question.function = SourceName(graph);
  question.parameter = kLoader;
  question.options = LoaderOptions();
  question.by_formula = kByRule;
  for (const auto& [dim, range] : sizes) {
    question.range[module.symbols[dim].name] = range;
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
  return question;
}

}  // namespace etc
