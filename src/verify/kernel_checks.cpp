#include "verify/kernel_checks.h"

#include <fmt/format.h>

#include <optional>

#include "analysis/events_of_sm.h"
#include "analysis/samples.h"
#include "ir/checked.h"
#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/queue.h"
#include "ir/rewrite.h"
#include "ir/schedules.h"
#include "ir/walk.h"
#include "verify/tensors.h"
#include "verify/wording.h"

namespace etc {
namespace {

// The loader's numbers are 32 bits wide on the GPU, whose clock wraps around.
constexpr int64_t kMostOfLoader = 1 << 30;

// A CTA has 1024 threads at most, of which four warps are no consumers.
constexpr int64_t kMostConsumerWarps = 28;

// As manifests have it.
constexpr int64_t kMostSharedBytes = INT32_MAX;

constexpr int64_t kMostSeconds = 3600;

constexpr int64_t kMostAhead = 64;

// As of a parameter: what copies of the loader and vectors ask for.
constexpr int64_t kPlaceAlignment = 16;

}  // namespace

void CheckThrottle(const Throttle& throttle, Diagnostics& diagnostics) {
  if (throttle.in_flight < 1 || throttle.in_flight > kMostOfLoader) {
    diagnostics.Error(
        DiagnosticKind::Throttle, throttle.range,
        fmt::format("the loader's in-flight limit must be from 1 to {} slots, but it is {}",
                    kMostOfLoader, throttle.in_flight));
  }
  if (throttle.ahead && (*throttle.ahead < 1 || *throttle.ahead > throttle.in_flight)) {
    diagnostics.Error(
        DiagnosticKind::Throttle, throttle.range,
        fmt::format("the loader must be ahead by 1 slot or more and at most its in-flight limit "
                    "of {}, but it is by {}",
                    throttle.in_flight, *throttle.ahead));
  }
  if (throttle.interval > kMostOfLoader) {
    diagnostics.Error(
        DiagnosticKind::Throttle, throttle.range,
        fmt::format("the loader's issue interval must be at most {} cycles, but it is {}",
                    kMostOfLoader, throttle.interval));
  }
  if (throttle.prefetch && (*throttle.prefetch < 1 || *throttle.prefetch > kMostOfLoader)) {
    diagnostics.Error(DiagnosticKind::Throttle, throttle.range,
                      fmt::format("the loader's pause between two prefetches must be from 1 to {} "
                                  "cycles, but it is {}",
                                  kMostOfLoader, *throttle.prefetch));
  }
}

/// A task may take the next slot while the last one is on its way back.
void CheckDepth(int64_t depth, SourceRange range, Diagnostics& diagnostics) {
  if (depth < 2 || depth > kMostOfLoader) {
    diagnostics.Error(DiagnosticKind::Throttle, range,
                      fmt::format("the loader's depth must be from 2 to {} slots, but it is {}",
                                  kMostOfLoader, depth));
  }
}

void CheckLaunch(const Kernel& kernel, Diagnostics& diagnostics) {
  auto check = [&](const char* what, int64_t value, int64_t least, int64_t most) {
    if (value < least || value > most) {
      diagnostics.Error(DiagnosticKind::Structure, kernel.launch,
                        fmt::format("a launch has from {} to {} {}, but this one has {}", least,
                                    most, what, value));
    }
  };
  check("consumer warps", kernel.consumer_warps, 1, kMostConsumerWarps);
  check("bytes of shared memory", kernel.shared_bytes, 0, kMostSharedBytes);
}

void CheckWatchdog(const Watchdog& watchdog, Diagnostics& diagnostics) {
  if (watchdog.seconds < 1 || watchdog.seconds > kMostSeconds) {
    diagnostics.Error(DiagnosticKind::Watchdog, watchdog.range,
                      fmt::format("a watchdog must wait from 1 to {} seconds, but it does {}",
                                  kMostSeconds, watchdog.seconds));
  }
}

void CheckAhead(const Dispatch& dispatch, Diagnostics& diagnostics) {
  if (dispatch.ahead < 1 || dispatch.ahead > kMostAhead) {
    diagnostics.Error(DiagnosticKind::Structure, dispatch.ahead_range,
                      fmt::format("an SM must take from 1 to {} tasks ahead, but it takes {}",
                                  kMostAhead, dispatch.ahead));
  }
}

void CheckProfile(const Module& module, const Profile& profile, ExprChecker& exprs,
                  Diagnostics& diagnostics) {
  constexpr const char* kWhat = "the number of spans of a profile";
  ExprId read = FindExpr(module, profile.spans, [](const Expr& expr) {
    return std::holds_alternative<Load>(expr) || std::holds_alternative<Reduce>(expr) ||
           std::holds_alternative<Cast>(expr);
  });
  if (read) {
    diagnostics.Error(
        DiagnosticKind::Structure, module.RangeOf(read),
        fmt::format("{} must be made of constants, dimensions and `sms`, but `{}` is none of them",
                    kWhat, Print(module, read)));
    return;
  }
  exprs.ExpectInt(profile.spans, kWhat);
}

namespace {

/// The words with flags of a kernel stand in one memory.
void CheckFlagsTogether(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  std::optional<TensorId> first;
  for (NodeId id : kernel.declarations) {
    const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id]);
    if (buffer == nullptr || !HasFlags(module.tensors[buffer->tensor])) {
      continue;
    }
    const Tensor& tensor = module.tensors[buffer->tensor];
    const Tensor& other = module.tensors[first.value_or(buffer->tensor)];
    if (tensor.symmetric != other.symmetric) {
      diagnostics.Error(
          DiagnosticKind::Structure, module.RangeOf(id),
          fmt::format("`%{}` is {}symmetric, unlike `%{}`, but all flagged and phased "
                      "buffers of a kernel are in one memory",
                      tensor.name, tensor.symmetric ? "" : "not ", other.name));
      return;
    }
    first = first.value_or(buffer->tensor);
  }
}

/// Flags in data stand in the place of events, which launches do without.
void CheckNothingFlagged(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  for (NodeId id : kernel.declarations) {
    const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id]);
    if (buffer != nullptr && HasFlags(module.tensors[buffer->tensor])) {
      const Tensor& tensor = module.tensors[buffer->tensor];
      diagnostics.Error(
          DiagnosticKind::Structure, module.RangeOf(id),
          fmt::format("`%{}` is {}, but a kernel of separate launches has no flag in data",
                      tensor.name, tensor.flagged ? "flagged" : "phased"));
    }
  }
}

}  // namespace

void CheckSchedule(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  if (kernel.schedule == ScheduleKind::Kernels) {
    CheckNothingFlagged(module, kernel, diagnostics);
    if (LaunchesOf(module, kernel.body, RangesOf(module, kernel)) > kMostLaunches) {
      diagnostics.Error(DiagnosticKind::Structure, kernel.range,
                        fmt::format("`@{}` has more than {} launches and rounds of `repeat`",
                                    kernel.name, kMostLaunches));
    }
    return;
  }
  CheckFlagsTogether(module, kernel, diagnostics);
  std::vector<ShareSite> dispatches = DispatchesOf(module, kernel);
  ScheduleKind kind = dispatches.empty() ? ScheduleKind::Static : ScheduleKind::Dynamic;
  if (kernel.schedule == kind) {
    return;
  }
  SourceRange at = dispatches.empty() ? kernel.range : module.RangeOf(dispatches.front().dispatch);
  Diagnostic& error =
      diagnostics.Error(DiagnosticKind::Structure, at,
                        fmt::format("a kernel {} a dispatch is `{}`, and `@{}` is `{}`",
                                    dispatches.empty() ? "without" : "with", Spelling(kind),
                                    kernel.name, Spelling(kernel.schedule)));
  if (!dispatches.empty()) {
    error.notes.push_back({kernel.range, fmt::format("`@{}` is declared here", kernel.name)});
  }
}

void CheckPlaces(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  for (NodeId id : kernel.declarations) {
    const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id]);
    if (buffer == nullptr || !module.tensors[buffer->tensor].offset) {
      continue;
    }
    const Tensor& tensor = module.tensors[buffer->tensor];
    for (const Sizes& sizes : SampleSizes(module, kernel.where)) {
      auto place = EvaluateInt(module, tensor.offset, sizes.dims, sizes.ranges);
      if (place && (*place < 0 || *place % kPlaceAlignment != 0)) {
        diagnostics.Error(
            DiagnosticKind::Structure, module.RangeOf(tensor.offset),
            fmt::format("the place of `%{}` is {}, but it must be a multiple of {} from 0 on{}",
                        tensor.name, *place, kPlaceAlignment, Describe(module, sizes)));
        break;
      }
    }
  }
}

namespace {

/// Some counters of a kernel: `first` is the number of the first of them, and the product of the
/// ranges and `unit` is how many they are.
struct Counters {
  std::string whose;
  ExprId first;
  int64_t unit;
  std::vector<Axis> ranges;
  ExprId places = {};  // of a queue, beside
};

/// The counters of one memory in the order in which they are numbered: those of events, then in
/// global memory the tickets of dispatches.
std::vector<Counters> CountersOf(const Module& module, const Kernel& kernel, Realisation via) {
  std::vector<Counters> all;
  for (NodeId id : kernel.declarations) {
    const auto* declaration = std::get_if<EventDecl>(&module.nodes[id]);
    if (declaration != nullptr && module.events[declaration->event].first &&
        module.events[declaration->event].realisation == via) {
      const Event& event = module.events[declaration->event];
      Counters& mine = all.emplace_back(Counters{"`%" + event.name + "`", event.first, 1, {}});
      for (const EventDim& dim : event.dims) {
        mine.ranges.push_back({{}, {}, dim.extent});
      }
    }
  }
  for (const ShareSite& site : DispatchesOf(module, kernel)) {
    const auto& dispatch = std::get<Dispatch>(module.nodes[site.dispatch]);
    if (dispatch.tickets && via == Realisation::Counter) {
      all.push_back({"a dispatch", dispatch.tickets, DispatchCounters(module, dispatch),
                     IterationsOf(module, site), dispatch.capacity});
    }
  }
  return all;
}

void CheckCountersOf(const Module& module, const Kernel& kernel, Realisation via,
                     Diagnostics& diagnostics) {
  const std::vector<Counters> all = CountersOf(module, kernel, via);
  for (const Sizes& sizes : SampleSizes(module, kernel.where)) {
    auto value = [&](ExprId id) {
      return id ? EvaluateInt(module, id, sizes.dims, sizes.ranges) : std::optional<int64_t>(0);
    };
    int64_t next = 0;
    for (const Counters& mine : all) {
      auto end = value(mine.first);
      if (end && *end < next) {
        diagnostics.Error(
            DiagnosticKind::Structure, module.RangeOf(mine.first),
            fmt::format("the counters of {} begin at {}, but those before them end at {}{}",
                        mine.whose, *end, next, Describe(module, sizes)));
        return;
      }
      auto places = value(mine.places);
      auto counters =
          end && places
              ? std::optional(mine.unit + (*places + kPlacesPerCounter - 1) / kPlacesPerCounter)
              : std::nullopt;
      for (const Axis& range : mine.ranges) {
        auto lo = value(range.lo), hi = value(range.hi);
        auto extent = lo && hi ? CheckedSub(*hi, *lo) : std::nullopt;
        counters = counters && extent ? CheckedMul(*counters, *extent) : std::nullopt;
      }
      end = counters ? CheckedAdd(*end, *counters) : std::nullopt;
      next = end.value_or(next);
    }
  }
}

/// Whether the counters of a CTA fit into the shared memory of a launch.
void CheckCtaCounters(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  const Event* first = nullptr;
  for (NodeId id : kernel.declarations) {
    const auto* declaration = std::get_if<EventDecl>(&module.nodes[id]);
    if (declaration == nullptr ||
        module.events[declaration->event].realisation != Realisation::Shared) {
      continue;
    }
    const Event& event = module.events[declaration->event];
    first = first == nullptr ? &event : first;
    if (!MostCounters(module, kernel, event)) {
      diagnostics.Error(DiagnosticKind::Via, event.range,
                        fmt::format("`%{}` is `via shared`, but no bound of its number of elements "
                                    "is known",
                                    event.name));
      return;
    }
  }
  auto counters = CtaCounters(module, kernel);
  if (first == nullptr || (counters && *counters <= kernel.shared_bytes / kCtaCounterBytes)) {
    return;
  }
  diagnostics.Error(
      DiagnosticKind::Via, first->range,
      counters
          ? fmt::format("events of `@{}` are `via shared`, but their {} counters take {} bytes "
                        "of the {} that a launch has in shared memory",
                        kernel.name, *counters, *counters * kCtaCounterBytes, kernel.shared_bytes)
          : fmt::format("events of `@{}` are `via shared`, but no bound of their number of "
                        "counters is known",
                        kernel.name));
}

}  // namespace

void CheckCounters(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  CheckCountersOf(module, kernel, Realisation::Counter, diagnostics);
  CheckCountersOf(module, kernel, Realisation::Shared, diagnostics);
}

void CheckVia(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  for (NodeId id : kernel.declarations) {
    const auto* declaration = std::get_if<EventDecl>(&module.nodes[id]);
    if (declaration == nullptr || !IsOfSm(module.events[declaration->event])) {
      continue;
    }
    const Event& event = module.events[declaration->event];
    auto obstacle = FindViaObstacle(module, kernel, declaration->event, event.realisation);
    if (obstacle) {
      diagnostics
          .Error(DiagnosticKind::Via, obstacle->range,
                 fmt::format("`%{}` is `via {}`, but {}", event.name, Spelling(event.realisation),
                             obstacle->why))
          .notes.push_back({event.range, fmt::format("`%{}` is declared here", event.name)});
    }
  }
  CheckCtaCounters(module, kernel, diagnostics);
}

namespace {

/// The indices of a slice, which leaves an axis at least.
bool CheckSliceIndices(const Module& module, const Check& check, TensorId id,
                       const std::vector<ExprId>& slice, ExprChecker& exprs,
                       Diagnostics& diagnostics) {
  if (slice.empty()) {
    return true;
  }
  const Tensor& tensor = module.tensors[id];
  size_t stay_whole = tensor.tile.empty() ? 1 : 2;
  if (slice.size() + stay_whole > tensor.shape.size()) {
    diagnostics.Error(DiagnosticKind::Rank, check.range,
                      fmt::format("`%{}` has {}, but the slice gives {} ind{}, and {} must stay",
                                  tensor.name, Counted(tensor.shape.size(), "dimension"),
                                  slice.size(), slice.size() == 1 ? "ex" : "ices", stay_whole));
    return false;
  }
  size_t before = diagnostics.error_count();
  for (ExprId index : slice) {
    if (!index) {
      diagnostics.Error(DiagnosticKind::Structure, check.range,
                        "a slice with a free axis stands in a graph, not in a kernel");
      return false;
    }
    exprs.ExpectInt(index, fmt::format("an index of `%{}`", tensor.name));
  }
  return diagnostics.error_count() == before;
}

}  // namespace

void CheckOfAllTasks(const Module& module, const Check& check, const Share& share,
                     Diagnostics& diagnostics) {
  if (ReadsCoordinates(module, check, share)) {
    diagnostics.Error(DiagnosticKind::Structure, check.range,
                      "a check before all tasks of a share reads the coordinates of one; it "
                      "stands behind the waits of a task");
  }
}

void CheckOfAllTasks(const Module& module, const EventRef& ref, const Share& share,
                     Diagnostics& diagnostics) {
  if (ReadsCoordinates(module, ref, share)) {
    diagnostics.Error(DiagnosticKind::Structure, ref.range,
                      fmt::format("`%{}` is for all tasks of the share here, and names the "
                                  "coordinates of one; it stands outside of `ranges`, `enter` and "
                                  "`leave`",
                                  module.events[ref.event].name));
  }
}

void CheckSlices(const Module& module, const Check& check, ExprChecker& exprs,
                 Diagnostics& diagnostics) {
  Tensor checked = module.tensors[check.tensor];
  if (!CheckSliceIndices(module, check, check.tensor, check.slice, exprs, diagnostics) ||
      !CheckSliceIndices(module, check, check.counts, check.counts_slice, exprs, diagnostics)) {
    return;
  }
  checked.shape.erase(checked.shape.begin(),
                      checked.shape.begin() + static_cast<std::ptrdiff_t>(check.slice.size()));
  if (check.leading > 0 && check.leading >= checked.shape.size()) {
    diagnostics.Error(DiagnosticKind::Rank, check.range,
                      fmt::format("`%{}` has {}, so {} `*` leave{} no slice to check", checked.name,
                                  Counted(checked.shape.size(), "dimension"), check.leading,
                                  check.leading == 1 ? "s" : ""));
    return;
  }
  bool all_named = check.leading + check.indices.size() == checked.shape.size();
  if (!check.indices.empty() && !all_named) {
    diagnostics.Error(DiagnosticKind::Rank, check.range,
                      fmt::format("`%{}` has {}, but {} stand{} here", checked.name,
                                  Counted(checked.shape.size(), "dimension"),
                                  check.leading + check.indices.size(),
                                  check.leading + check.indices.size() == 1 ? "s" : ""));
    return;
  }
  checked.range = check.range;
  checked.value_lo = check.value_lo;
  checked.value_hi = check.value_hi;
  checked.distinct = check.distinct;
  checked.monotone = check.monotone;
  checked.counts = check.counts;
  CheckPreconditions(module, checked, exprs, diagnostics);
}

/// Before its first task a launch knows the parameters that it does not write alone.
void CheckLaunchCheck(const Module& module, const Check& check, ExprChecker& exprs,
                      Diagnostics& diagnostics) {
  const Tensor& checked = module.tensors[check.tensor];
  if (checked.kind != TensorKind::Param || checked.access == Access::Out) {
    diagnostics.Error(DiagnosticKind::Structure, check.range,
                      fmt::format("`%{}` is {}, which has no elements yet when a launch begins",
                                  checked.name, Describe(checked)));
    return;
  }
  CheckSlices(module, check, exprs, diagnostics);
}

}  // namespace etc
