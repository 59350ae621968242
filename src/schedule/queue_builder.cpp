#include "schedule/queue_builder.h"

#include <algorithm>
#include <utility>

#include "analysis/most_tasks.h"
#include "analysis/same_elements.h"
#include "analysis/shapes.h"
#include "ir/queue.h"
#include "ir/rewrite.h"
#include "ir/task_count.h"
#include "schedule/queue_edges.h"

namespace etc {
namespace {

bool SameExtent(const Module& module, const Axis& a, const Axis& b, const DimRanges& ranges) {
  return bool{a.lo} == bool{b.lo} && (!a.lo || SameSize(module, a.lo, b.lo, ranges)) &&
         SameSize(module, a.hi, b.hi, ranges);
}

}  // namespace

std::string QueueBuilder::DueName(const Share& share) const {
  return module_.devices[share.callee].name + "_due";
}

bool QueueBuilder::IsPushed(NodeId node) const {
  return std::get<Share>(module_.nodes[node]).pushed_by.has_value();
}

std::vector<Axis> QueueBuilder::ArrivingAxes(const Share& producer) const {
  std::vector<Axis> axes = producer.axes;
  if (!IsBox(module_, producer.axes)) {
    axes.resize(producer.pushed_by->indices.size() - around_.iterations.size());
  }
  return axes;
}

std::optional<ExprId> QueueBuilder::ArrivalsOf(const std::vector<Producer>& producers) const {
  ExprId count = MakeInt(module_, 0);
  for (const Producer& each : producers) {
    std::vector<Axis> others;
    const std::vector<Axis> axes = ArrivingAxes(std::get<Share>(module_.nodes[each.node]));
    for (size_t i = 0; i < axes.size(); ++i) {
      if (std::find(each.axes.begin(), each.axes.end(), i) == each.axes.end()) {
        others.push_back(axes[i]);
      }
    }
    count = MakeAdd(module_, count, TaskCount(module_, others));
  }
  auto bounds = Bounds(module_, count, {}, ranges_);
  return bounds && bounds->lo >= 1 ? std::optional(count) : std::nullopt;
}

/// For each of the first axes of the case the producer's axis that all events between the two have
/// at its place: a task waits only for tasks that agree with it there.
std::vector<size_t> QueueBuilder::CommonAxes(const Share& producer, const Share& share) const {
  std::vector<size_t> common;
  const std::vector<Axis> arriving = ArrivingAxes(producer);
  size_t given = MostGiven(module_, share);
  while (common.size() < given) {
    const Axis& axis = share.axes[common.size()];
    std::vector<size_t> candidates;
    for (size_t i = 0; i < arriving.size(); ++i) {
      bool taken = std::find(common.begin(), common.end(), i) != common.end();
      if (!taken && SameExtent(module_, arriving[i], axis, ranges_)) {
        candidates.push_back(i);
      }
    }
    VisitEdges(producer, share, [&](const EventRef& notify, const EventRef& wait) {
      std::erase_if(candidates, [&](size_t candidate) {
        for (size_t i = 0; i < wait.indices.size(); ++i) {
          if (IsValueOf(module_, wait.indices[i], axis) &&
              IsValueOf(module_, notify.indices[i], arriving[candidate])) {
            return false;
          }
        }
        return true;
      });
    });
    if (candidates.empty()) {
      break;
    }
    common.push_back(candidates.front());
  }
  return common;
}

/// With as many axes each as all of them have. What is there from the start comes first whether it
/// arrives or not, so of these the ones without a box are left out; and all of them where a push
/// waits for data, which may come from what an SM runs behind its last task of a case.
std::vector<QueueBuilder::Producer> QueueBuilder::ProducersOf(const Share& share) const {
  std::vector<Producer> producers;
  size_t axes = share.axes.size();
  bool box = IsBox(module_, share.axes);
  for (NodeId id : cases_) {
    const Share& mine = std::get<Share>(module_.nodes[id]);
    bool any = false;
    VisitEdges(mine, share, [&](const EventRef&, const EventRef&) { any = true; });
    if (any && (mine.pushed_by || (box && IsBox(module_, mine.axes)))) {
      producers.push_back({id, CommonAxes(mine, share)});
      axes = std::min(axes, producers.back().axes.size());
    }
  }
  for (Producer& producer : producers) {
    producer.axes.resize(axes);
  }
  return producers;
}

bool QueueBuilder::AwaitsPushedPeers(const Share& share) const {
  return std::any_of(cases_.begin(), cases_.end(), [&](NodeId id) {
    bool found = false;
    VisitEdges(std::get<Share>(module_.nodes[id]), share,
               [&](const EventRef& notify, const EventRef&) { found = found || notify.peer; });
    return found && IsPushed(id);
  });
}

bool QueueBuilder::Takes(const Share& share) const {
  if (AwaitsPushedPeers(share)) {
    return false;
  }
  std::vector<Producer> producers = ProducersOf(share);
  bool from_start = std::none_of(producers.begin(), producers.end(),
                                 [&](const Producer& each) { return IsPushed(each.node); });
  // What has no tasks at some size completes no trigger there.
  return from_start || (ArrivalsOf(producers) && MostTasksOf(module_, share, ranges_));
}

void QueueBuilder::Add(Share share, SourceRange range) {
  std::vector<Producer> producers = ProducersOf(share);
  auto count = ArrivalsOf(producers);
  auto most = count ? MostTasksOf(module_, share, ranges_) : std::nullopt;
  if (auto updates = most ? UpdatesOf(share) : std::nullopt) {
    updates->trigger.range = range;
    updates->on.event = around_.declare(std::move(updates->trigger));
    for (Update& each : updates->updates) {
      Share& mine = std::get<Share>(module_.nodes[each.node]);
      each.arrival.event = updates->on.event;
      mine.after_arrivals.push_back(std::move(each.arrival));
      for (EventRef& wait : each.waits) {
        bool known = std::any_of(
            mine.after_waits.begin(), mine.after_waits.end(), [&](const EventRef& other) {
              return other.event == wait.event && SameElements(module_, other, wait);
            });
        if (!known) {
          mine.after_waits.push_back(std::move(wait));
        }
      }
    }
    capacity_ = capacity_ ? MakeAdd(module_, capacity_, *most) : *most;
    share.pushed_by = std::move(updates->on);
  } else if (most) {
    Event trigger;
    trigger.name = DueName(share);
    trigger.trigger = true;
    trigger.range = range;
    trigger.count = *count;
    EventRef on;
    for (const Axis& axis : around_.iterations) {
      trigger.dims.push_back({{}, axis.hi});
      on.indices.push_back({MakeRef(module_, axis.var), {}});
    }
    EventRef arrive = on;
    const size_t axes = producers.front().axes.size();
    for (size_t i = 0; i < axes; ++i) {
      trigger.dims.push_back({{}, share.axes[i].hi});
      on.indices.push_back({MakeRef(module_, share.axes[i].var), {}});
    }
    on.event = arrive.event = around_.declare(std::move(trigger));
    for (const Producer& each : producers) {
      EventRef mine = arrive;
      for (size_t axis : each.axes) {
        SymbolId var = std::get<Share>(module_.nodes[each.node]).axes[axis].var;
        mine.indices.push_back({MakeRef(module_, var), {}});
      }
      std::get<Share>(module_.nodes[each.node]).arrivals.push_back(std::move(mine));
    }
    capacity_ = capacity_ ? MakeAdd(module_, capacity_, *most) : *most;
    share.pushed_by = std::move(on);
  }
  cases_.push_back(module_.AddNode(std::move(share), range));
}

Dispatch QueueBuilder::Take(int64_t ahead) {
  Dispatch dispatch;
  dispatch.ahead = ahead;
  dispatch.capacity = std::exchange(capacity_, {});
  dispatch.cases = std::exchange(cases_, {});
  return dispatch;
}

}  // namespace etc
