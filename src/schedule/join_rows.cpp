#include <algorithm>

#include "analysis/events_of_sm.h"
#include "analysis/shapes.h"
#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "ir/task_count.h"
#include "schedule/lower.h"

namespace etc {
namespace {

/// Whether both are absent or of one value.
bool Same(const Module& module, ExprId a, ExprId b, const DimRanges& ranges) {
  return a && b ? SameSize(module, a, b, ranges) : !a && !b;
}

bool SameAxes(const Module& module, const Share& a, const Share& b, const DimRanges& ranges) {
  return std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(),
                    [&](const Axis& mine, const Axis& other) {
                      return Same(module, mine.lo, other.lo, ranges) &&
                             Same(module, mine.hi, other.hi, ranges);
                    });
}

/// Whether both name one element, and the same.
bool SameElement(const Module& module, const EventRef& a, const EventRef& b,
                 const DimRanges& ranges) {
  auto single = [](const EventRef& ref) {
    return ref.axes.empty() && !ref.guard && !ref.peer &&
           std::none_of(ref.indices.begin(), ref.indices.end(),
                        [](const EventIndex& index) { return index.all || index.hi; });
  };
  return a.event == b.event && single(a) && single(b) &&
         std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end(),
                    [&](const EventIndex& mine, const EventIndex& other) {
                      return SameSize(module, mine.lo, other.lo, ranges);
                    });
}

/// Whether each task of the second share waits for the task with its number in the first alone, by
/// events that nobody else notifies, and each SM of `sms` has one task of a share at most.
bool FollowsRowByRow(Module& module, const Share& first, const Share& second,
                     const DimRanges& ranges, int64_t sms) {
  if (second.waits.empty() || !second.enter_waits.empty() || !second.range_waits.empty() ||
      !first.first || !IsBox(module, first.axes) || !SameAxes(module, first, second, ranges)) {
    return false;
  }
  auto most =
      MostTasks(first.axes, [&](ExprId bound) { return Bounds(module, bound, {}, ranges); });
  if (!most || *most > sms) {
    return false;
  }
  Substitution names;
  for (size_t i = 0; i < first.axes.size(); ++i) {
    names[second.axes[i].var] = MakeRef(module, first.axes[i].var);
  }
  return std::all_of(second.waits.begin(), second.waits.end(), [&](const EventRef& wait) {
    const EventRef mine = Clone(module, wait, names);
    return EvaluateInt(module, module.events[wait.event].count, {}, ranges) == 1 &&
           std::any_of(first.notifies.begin(), first.notifies.end(), [&](const EventRef& notify) {
             return SameElement(module, notify, mine, ranges);
           });
  });
}

/// Begins the shares of a block where the ones before them begin, if they follow these row by row.
void JoinBlock(Module& module, const Kernel& kernel, const std::vector<NodeId>& block,
               int64_t sms) {
  const DimRanges ranges = RangesOf(module, kernel);
  for (size_t i = 0; i < block.size(); ++i) {
    if (const auto* repeat = std::get_if<Repeat>(&module.nodes[block[i]])) {
      JoinBlock(module, kernel, repeat->body, sms);
    }
    const auto* first = i == 0 ? nullptr : std::get_if<Share>(&module.nodes[block[i - 1]]);
    auto* second = std::get_if<Share>(&module.nodes[block[i]]);
    if (first == nullptr || second == nullptr ||
        !FollowsRowByRow(module, *first, *second, ranges, sms)) {
      continue;
    }
    bool stays = std::all_of(second->waits.begin(), second->waits.end(), [&](const EventRef& wait) {
      return module.events[wait.event].realisation == Realisation::Unset &&
             !FindViaObstacle(module, kernel, wait.event, Realisation::Shared);
    });
    if (stays) {
      second->first = Clone(module, first->first, Substitution{});
    }
  }
}

}  // namespace

bool JoinRows(Module& module, const ScheduleOptions& options, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    JoinBlock(module, module.kernels[id], module.kernels[id].body, options.target->sms);
  }
  return true;
}

}  // namespace etc
