#include "verify/samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/checked.h"

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
void AddSamples(const Module& module, const DimRanges& ranges, std::vector<Sizes>& samples) {
  std::vector<DimChoice> choices = Choices(module, ranges);
  size_t rounds = 1;
  for (const DimChoice& choice : choices) {
    rounds = std::max(rounds, choice.values.size());
  }
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t step : {size_t{0}, size_t{1}}) {
      Sizes sizes{{}, ranges};
      for (size_t d = 0; d < choices.size(); ++d) {
        const std::vector<int64_t>& values = choices[d].values;
        size_t at =
            step == 0 ? std::min(round, values.size() - 1) : (round + d * step) % values.size();
        sizes.dims[choices[d].dim] = values[at];
      }
      auto same = [&](const Sizes& other) { return other.dims == sizes.dims; };
      if (std::none_of(samples.begin(), samples.end(), same)) {
        samples.push_back(std::move(sizes));
      }
    }
  }
}

bool HasDims(const Module& module) {
  return std::any_of(module.items.begin(), module.items.end(), [&](const Item& item) {
    const auto* id = std::get_if<SymbolId>(&item);
    return id != nullptr && module.symbols[*id].kind == SymbolKind::Dim;
  });
}

/// Drops samples without values: some dimension has no valid range.
std::vector<Sizes> Valid(const Module& module, std::vector<Sizes> samples) {
  if (HasDims(module)) {
    std::erase_if(samples, [](const Sizes& sizes) { return sizes.dims.empty(); });
  }
  return samples;
}

}  // namespace

std::vector<Sizes> SampleSizes(const Module& module, const Specialisation* specialisation) {
  std::vector<Sizes> samples;
  if (specialisation == nullptr) {
    AddSamples(module, {}, samples);
    return Valid(module, std::move(samples));
  }
  for (const DimRange& range : specialisation->ranges) {
    auto lo = EvaluateInt(module, range.lo, {});
    auto hi = EvaluateInt(module, range.hi, {});
    if (lo && hi) {
      AddSamples(module, {{specialisation->dim, {*lo, *hi}}}, samples);
    }
  }
  return Valid(module, std::move(samples));
}

std::vector<Sizes> SampleSizes(const Module& module, const std::vector<Where>& where) {
  DimRanges ranges;
  for (const Where& one : where) {
    auto lo = EvaluateInt(module, one.lo, {});
    auto hi = EvaluateInt(module, one.hi, {});
    if (lo && hi) {
      ranges[one.dim] = {*lo, *hi};
    }
  }
  std::vector<Sizes> samples;
  AddSamples(module, ranges, samples);
  return Valid(module, std::move(samples));
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
