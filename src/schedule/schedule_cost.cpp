#include "schedule/schedule_cost.h"

#include <algorithm>
#include <limits>

#include "expand/expand.h"
#include "expand/kernel_options.h"
#include "ir/lower_slices.h"
#include "schedule/lower.h"
#include "simulator/sizes.h"

namespace etc {
namespace {

/// Launches are taken where they are quicker by more than this: at batch 32 to 128 of Qwen3-8B and
/// 32B the model is wrong by 1 to 4 % about which of the two is quicker.
constexpr double kMargin = 0.04;

/// Whether the model knows how long the calls take: it does not of bodies that are compiled as they
/// are written.
bool IsKnown(const KernelCost& cost) {
  return std::none_of(cost.calls.begin(), cost.calls.end(),
                      [](const CallCost& call) { return call.generated; });
}

/// Whether there is a single call, which waits for nothing: as a launch it needs no events, and is
/// done 0.3 to 2 us sooner.
bool IsOneCall(const KernelCost& cost) {
  return cost.calls.size() == 1 && cost.calls.front().iterations == 1;
}

/// All passes that change what the model looks at.
bool Lower(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics) {
  if (options.schedule == ScheduleKind::Kernels) {
    return LowerKernels(module, options, diagnostics);
  }
  return LowerStatic(module, options, diagnostics) && HoistEvents(module, options, diagnostics) &&
         FlagInData(module, options, diagnostics) && EventsInWords(module, options, diagnostics) &&
         JoinRows(module, options, diagnostics) && RealiseEvents(module, options, diagnostics);
}

/// A graph in one schedule, as a kernel of a module of its own.
struct Trial {
  Module module;
  KernelId kernel;

  KernelCost Cost(bool largest, const Target& target) const {
    const Kernel& one = module.kernels[kernel];
    return CostOf(module, one, TypicalSizes(module, one, largest), target);
  }
};

/// Absent where the graph does not lower so.
std::optional<Trial> Try(const Module& module, GraphId graph, ScheduleKind kind,
                         const ScheduleOptions& options) {
  Trial trial{module, KernelId{static_cast<uint32_t>(module.kernels.size())}};
  std::erase_if(trial.module.items, [&](const Item& item) {
    const auto* id = std::get_if<GraphId>(&item);
    return id != nullptr && *id != graph;
  });
  ScheduleOptions with = options;
  with.schedule = kind;
  with.remarks = false;
  Diagnostics diagnostics;  // a graph that does not lower is reported where it must
  if (!Lower(trial.module, with, diagnostics) ||
      trial.module.kernels.size() == module.kernels.size()) {
    return std::nullopt;
  }
  return trial;
}

}  // namespace

ScheduleKind ScheduleByCost(const Module& module, GraphId graph, const ScheduleOptions& options) {
  auto persistent = module.mesh ? std::nullopt : Try(module, graph, ScheduleKind::Static, options);
  if (!persistent) {
    return ScheduleKind::Static;
  }
  const KernelCost least = persistent->Cost(false, *options.target);
  auto separate =
      IsKnown(least) ? Try(module, graph, ScheduleKind::Kernels, options) : std::nullopt;
  if (!separate) {
    return ScheduleKind::Static;
  }
  if (IsOneCall(least)) {
    return ScheduleKind::Kernels;
  }
  double one = least.times.Sum() + persistent->Cost(true, *options.target).times.Sum();
  double launches = separate->Cost(false, *options.target).times.Sum() +
                    separate->Cost(true, *options.target).times.Sum();
  return launches < one * (1 - kMargin) ? ScheduleKind::Kernels : ScheduleKind::Static;
}

ScheduleCosts::ScheduleCosts(const Module& open, const Target& target, const Advise& decided)
    : module_(open) {
  options_.target = &target;
  options_.flag_in_data = true;
  Diagnostics diagnostics;  // what does not expand is reported where it must
  right_ = Expand(module_, {{target.sms, target.shared_bytes}, decided}, diagnostics);
  if (right_) {
    LowerSlices(module_);
    right_ =
        DeriveEvents(module_, options_, diagnostics) && Specialise(module_, options_, diagnostics);
  }
}

GraphId ScheduleCosts::Find(const Decision& decision) const {
  return right_ ? FindGraph(module_, decision.graph, RangesOf(module_, decision.where)) : GraphId{};
}

std::vector<double> ScheduleCosts::Of(const Decision& decision) const {
  const GraphId graph = Find(decision);
  std::vector<double> times;
  for (const Option& option : decision.question.options) {
    const std::optional<ScheduleKind> kind = ScheduleOption(option);
    std::optional<Trial> trial;
    if (graph) {
      trial =
          Try(module_, graph, kind ? *kind : ScheduleByCost(module_, graph, options_), options_);
    }
    times.push_back(trial ? trial->Cost(true, *options_.target).times.Sum()
                          : std::numeric_limits<double>::infinity());
  }
  return times;
}

Answer ScheduleCosts::Resolved(const Decision& decision) const {
  const GraphId graph = Find(decision);
  if (!graph || decision.answer.option != Spelling(ScheduleKind::Auto)) {
    return decision.answer;
  }
  return {std::string(Spelling(ScheduleByCost(module_, graph, options_))), Decider::Cost, {}};
}

}  // namespace etc
