#include "schedule/choice_cost.h"

#include <algorithm>
#include <limits>

#include "ir/lower_slices.h"
#include "schedule/lower.h"
#include "simulator/sizes.h"

namespace etc {
namespace {

/// But for the range.
bool IsAlike(const Question& a, const Question& b) {
  return a.function == b.function && a.parameter == b.parameter && a.shape == b.shape;
}

}  // namespace

Advise Decided(std::vector<Decision> decisions) {
  return [decisions = std::move(decisions)](const Question& question) -> std::optional<Answer> {
    for (const Decision& decision : decisions) {
      if (IsAlike(decision.question, question) && decision.question.range == question.range &&
          decision.answer.by != Decider::Formula) {
        return decision.answer;
      }
    }
    return std::nullopt;
  };
}

struct ChoiceCosts::Trial {
  Module module;
  std::vector<Decision> decisions;
  bool right = false;
};

ChoiceCosts::ChoiceCosts(const Module& open, const Target& target, Advise others)
    : open_(open), target_(target), others_(std::move(others)) {}

ChoiceCosts::~ChoiceCosts() = default;

const ChoiceCosts::Trial& ChoiceCosts::With(const Question& question, const std::string& option) {
  std::string key = question.function + ";" + question.parameter + ";" + option;
  for (const auto& [name, value] : question.shape) {
    key += ";" + name + std::to_string(value);
  }
  std::unique_ptr<Trial>& trial = trials_[key];
  if (trial) {
    return *trial;
  }
  trial = std::make_unique<Trial>();
  trial->module = open_;
  Diagnostics diagnostics;  // an option that another forbids is no error
  auto advise = [&](const Question& other) -> std::optional<Answer> {
    auto is_it = [&](const Option& one) { return one.name == option; };
    if (IsAlike(other, question) &&
        std::any_of(other.options.begin(), other.options.end(), is_it)) {
      return Answer{option, Decider::Cost, {}};
    }
    return others_ ? others_(other) : std::nullopt;
  };
  ScheduleOptions options;
  options.target = &target_;
  ExpandOptions expand{{target_.sms, target_.shared_bytes}, advise, &trial->decisions};
  trial->right = Expand(trial->module, expand, diagnostics);
  if (trial->right) {
    LowerSlices(trial->module);
    trial->right = StripEvents(trial->module, options, diagnostics) &&
                   Specialise(trial->module, options, diagnostics);
  }
  return *trial;
}

double ChoiceCosts::Estimate(const Trial& trial, const Question& question) const {
  auto asked =
      std::find_if(trial.decisions.begin(), trial.decisions.end(), [&](const Decision& decision) {
        return IsAlike(decision.question, question) && decision.question.range == question.range;
      });
  if (!trial.right || asked == trial.decisions.end()) {
    return std::numeric_limits<double>::infinity();
  }
  Module module = trial.module;
  const GraphId graph = FindGraph(module, asked->graph, RangesOf(module, asked->where));
  std::erase_if(module.items, [&](const Item& item) {
    const auto* id = std::get_if<GraphId>(&item);
    return id != nullptr && *id != graph;
  });
  ScheduleOptions options;
  options.target = &target_;
  options.schedule = ScheduleKind::Static;
  Diagnostics diagnostics;
  size_t kernels_before = module.kernels.size();
  if (!LowerStatic(module, options, diagnostics) || module.kernels.size() == kernels_before) {
    return std::numeric_limits<double>::infinity();
  }
  const Kernel& kernel = module.kernels[KernelId{static_cast<uint32_t>(kernels_before)}];
  KernelCost cost =
      CostOf(module, kernel, TypicalSizes(module, kernel, true), target_, {}, Edges::Expected);
  return cost.times.Sum();
}

std::vector<double> ChoiceCosts::Of(const Question& question) {
  std::vector<double> times;
  for (const Option& option : question.options) {
    times.push_back(Estimate(With(question, option.name), question));
  }
  return times;
}

Answer ChoiceCosts::Best(const Question& question) {
  std::vector<double> times = Of(question);
  double least = std::numeric_limits<double>::infinity();
  double formula = least;
  std::string best = question.by_formula;
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i] < least) {
      least = times[i];
      best = question.options[i].name;
    }
    if (question.options[i].name == question.by_formula) {
      formula = times[i];
    }
  }
  return {formula <= least * (1 + kCostResolution) ? question.by_formula : best, Decider::Cost, {}};
}

}  // namespace etc
