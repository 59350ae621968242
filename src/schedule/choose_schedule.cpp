// One kernel or launches, for each range of sizes by what the simulator says of both.
#include <fmt/format.h>

#include <algorithm>

#include "ir/peers.h"
#include "schedule/kernel_builder.h"
#include "schedule/lower.h"
#include "simulator/kernel_cost.h"
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

class ScheduleChoice {
 public:
  ScheduleChoice(const Module& module, GraphId graph, const ScheduleOptions& options)
      : module_(module), graph_(graph), options_(options) {}

  ScheduleKind Run() const {
    double one = 0;
    double launches = 0;
    for (bool largest : {false, true}) {
      auto persistent = CostAs(ScheduleKind::Static, largest);
      auto separate = CostAs(ScheduleKind::Kernels, largest);
      if (!persistent || !separate || !IsKnown(*persistent)) {
        return ScheduleKind::Static;
      }
      one += persistent->times.Sum();
      launches += separate->times.Sum();
    }
    return launches < one * (1 - kMargin) ? ScheduleKind::Kernels : ScheduleKind::Static;
  }

 private:
  /// Of the graph under a schedule, with all passes that change what the model looks at.
  std::optional<KernelCost> CostAs(ScheduleKind kind, bool largest) const {
    Module trial = module_;
    std::erase_if(trial.items, [&](const Item& item) {
      const auto* id = std::get_if<GraphId>(&item);
      return id != nullptr && *id != graph_;
    });
    ScheduleOptions options = options_;
    options.schedule = kind;
    options.remarks = false;
    Diagnostics diagnostics;  // a graph that does not lower is reported where it must
    bool ok = kind == ScheduleKind::Kernels ? LowerKernels(trial, options, diagnostics)
                                            : LowerStatic(trial, options, diagnostics) &&
                                                  HoistEvents(trial, options, diagnostics) &&
                                                  FlagInData(trial, options, diagnostics);
    if (!ok || trial.kernels.size() == 0) {
      return std::nullopt;
    }
    const Kernel& kernel = trial.kernels[KernelId{static_cast<uint32_t>(trial.kernels.size() - 1)}];
    return CostOf(trial, kernel, TypicalSizes(trial, kernel, largest), *options_.target);
  }

  const Module& module_;
  GraphId graph_;
  const ScheduleOptions& options_;
};

/// Whether nobody has said how any call of the graph gets to the SMs.
bool IsAuto(const Module& module, const Graph& graph, const ScheduleOptions& options) {
  return options.schedule ? *options.schedule == ScheduleKind::Auto
                          : SchedulesOf(module, graph) == std::set{ScheduleKind::Auto};
}

}  // namespace

bool ChooseSchedule(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics) {
  ScheduleKind asked = options.schedule.value_or(ScheduleKind::Static);
  if (module.mesh && !FitsMesh(asked)) {
    diagnostics
        .Error(DiagnosticKind::Unsupported, module.mesh->range,
               fmt::format("a program with a mesh is scheduled as `static` or `drain`, and `{}` "
                           "was asked for",
                           Spelling(asked)))
        .notes.push_back({{}, std::string(WhyNotOverRanks(asked))});
    return false;
  }
  for (const Item& item : module.items) {
    const auto* id = std::get_if<GraphId>(&item);
    if (id != nullptr && module.graphs[*id].specialisations.empty() &&
        IsAuto(module, module.graphs[*id], options)) {
      ScheduleKind kind =
          module.mesh ? ScheduleKind::Static : ScheduleChoice(module, *id, options).Run();
      module.graphs[*id].schedule = kind;
    }
  }
  return true;
}

}  // namespace etc
