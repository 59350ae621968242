#include "analysis/samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/checked.h"
#include "ir/requirements.h"

namespace etc {
namespace {

struct DimChoice {
  SymbolId dim;
  int64_t multiple = 1;
  std::vector<int64_t> values;  // ascending
};

/// Adds `value`, rounded up to a multiple, when it is inside the range.
void Add(DimChoice& choice, Interval range, int64_t value) {
  auto aligned = CheckedAlign(value, choice.multiple);
  if (aligned && *aligned >= range.lo && *aligned <= range.hi) {
    choice.values.push_back(*aligned);
  }
}

std::vector<DimChoice> Choices(const Module& module, const DimRanges& narrowed) {
  std::vector<DimChoice> choices;
  for (const Item& item : module.items) {
    const auto* id = std::get_if<SymbolId>(&item);
    if (id == nullptr || module.symbols[*id].kind != SymbolKind::Dim) {
      continue;
    }
    DimChoice choice{*id, 1, {}};
    auto range = RangeOfDim(module, *id, narrowed);
    if (ExprId multiple = module.symbols[*id].multiple) {
      choice.multiple = EvaluateInt(module, multiple, {}).value_or(0);
    }
    if (!range || range->lo > range->hi || choice.multiple < 1) {
      return {};
    }
    for (int64_t value : {range->lo, range->lo + 1, int64_t{2}, int64_t{3}, int64_t{17},
                          range->hi - range->hi % choice.multiple}) {
      Add(choice, *range, value);
    }
    std::sort(choice.values.begin(), choice.values.end());
    choice.values.erase(std::unique(choice.values.begin(), choice.values.end()),
                        choice.values.end());
    if (choice.values.empty()) {
      return {};
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

/// Every dimension at its least value, then at its second, and so on; and the same with each
/// dimension one step further than the one before it, so that they also differ from each other.
std::vector<Env> Diagonals(const std::vector<DimChoice>& choices) {
  std::vector<Env> all;
  size_t rounds = 1;
  for (const DimChoice& choice : choices) {
    rounds = std::max(rounds, choice.values.size());
  }
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t step : {size_t{0}, size_t{1}}) {
      Env& dims = all.emplace_back();
      for (size_t d = 0; d < choices.size(); ++d) {
        const std::vector<int64_t>& values = choices[d].values;
        size_t at =
            step == 0 ? std::min(round, values.size() - 1) : (round + d * step) % values.size();
        dims[choices[d].dim] = values[at];
      }
    }
  }
  return all;
}

/// Every combination of the choices, as far as they are few, evenly spread.
std::vector<Env> Combinations(const std::vector<DimChoice>& choices) {
  constexpr size_t kMost = 4096;
  size_t count = 1;
  for (const DimChoice& choice : choices) {
    count = std::min(count * choice.values.size(), kMost);
  }
  std::vector<Env> all(count);
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i;
    for (const DimChoice& choice : choices) {
      all[i][choice.dim] = choice.values[rest % choice.values.size()];
      rest /= choice.values.size();
    }
  }
  return all;
}

/// Those that fulfil the requirements between dimensions, and some more where these leave few.
std::vector<Env> Fulfilling(const Module& module, const std::vector<ExprId>& requirements,
                            const std::vector<DimChoice>& choices, const DimRanges& ranges) {
  constexpr size_t kEnough = 16;
  std::vector<Env> all = Diagonals(choices);
  auto fails = [&](const Env& dims) {
    return std::any_of(requirements.begin(), requirements.end(), [&](ExprId condition) {
      return !EvaluateBool(module, condition, dims, ranges).value_or(false);
    });
  };
  std::erase_if(all, fails);
  std::vector<Env> others = Combinations(choices);
  std::erase_if(others, fails);
  for (size_t i = 0; i < others.size(); i += others.size() / kEnough + 1) {
    all.push_back(others[i]);
  }
  for (Prefer prefer : {Prefer::Small, Prefer::Large}) {
    if (auto found = FindSizes(module, ranges, prefer)) {
      all.push_back(std::move(*found));
    }
  }
  return all;
}

void AddSamples(const Module& module, const DimRanges& ranges, std::vector<Sizes>& samples) {
  std::vector<DimChoice> choices = Choices(module, ranges);
  if (choices.empty() && !DimsOf(module).empty()) {
    return;  // a dimension has no valid range
  }
  std::vector<ExprId> requirements = LaunchRequirements(module);
  std::vector<Env> all =
      requirements.empty() ? Diagonals(choices) : Fulfilling(module, requirements, choices, ranges);
  for (Env& dims : all) {
    auto same = [&](const Sizes& other) { return other.dims == dims; };
    if (std::none_of(samples.begin(), samples.end(), same)) {
      samples.push_back({std::move(dims), ranges});
    }
  }
}

}  // namespace

std::vector<Sizes> SampleSizes(const Module& module) {
  std::vector<const Graph*> graphs;
  for (const Item& item : module.items) {
    if (const auto* id = std::get_if<GraphId>(&item)) {
      graphs.push_back(&module.graphs[*id]);
    }
  }
  std::vector<Sizes> samples;
  if (std::none_of(graphs.begin(), graphs.end(),
                   [](const Graph* one) { return one->where.empty(); })) {
    for (const Graph* graph : graphs) {
      AddSamples(module, RangesOf(module, graph->where), samples);
    }
  }
  if (samples.empty()) {
    AddSamples(module, {}, samples);
  }
  return samples;
}

std::vector<Sizes> SampleSizes(const Module& module, const Graph& graph) {
  std::vector<Sizes> samples;
  for (const DimRanges& ranges : RangesOf(module, graph)) {
    AddSamples(module, ranges, samples);
  }
  return samples;
}

std::vector<Sizes> SampleSizes(const Module& module, const std::vector<Where>& where) {
  std::vector<Sizes> samples;
  AddSamples(module, RangesOf(module, where), samples);
  return samples;
}

std::string Describe(const Module& module, const Sizes& sizes, const std::string& variables) {
  std::string text;
  for (const auto& [dim, value] : sizes.dims) {
    text += fmt::format(", {} = {}", module.symbols[dim].name, value);
  }
  if (!variables.empty()) {
    text += ", " + variables;
  }
  return text.empty() ? text : ", where" + text.substr(1);
}

}  // namespace etc
