#include "schedule/queue_builder.h"

#include <algorithm>
#include <utility>

#include "analysis/shapes.h"
#include "ir/rewrite.h"
#include "ir/task_count.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// Whether the index is the value of the axis and nothing else.
bool Is(const Module& module, const EventIndex& index, const Axis& axis) {
  return index.lo && !index.hi && IsSymbol(module, index.lo, axis.var);
}

bool SameExtent(const Module& module, const Axis& a, const Axis& b, const DimRanges& ranges) {
  return bool{a.lo} == bool{b.lo} && (!a.lo || SameSize(module, a.lo, b.lo, ranges)) &&
         SameSize(module, a.hi, b.hi, ranges);
}

/// Calls `visit` with each pair of a notify and a wait of one event.
template <class F>
void VisitEdges(const Share& producer, const Share& share, const F& visit) {
  for (const auto* notifies : {&producer.notifies, &producer.leave_notifies}) {
    for (const EventRef& notify : *notifies) {
      for (const auto* waits : {&share.range_waits, &share.enter_waits, &share.waits}) {
        for (const EventRef& wait : *waits) {
          if (notify.event == wait.event) {
            visit(notify, wait);
          }
        }
      }
    }
  }
}

}  // namespace

bool QueueBuilder::IsPushed(NodeId node) const {
  return std::get<Share>(module_.nodes[node]).pushed_by.has_value();
}

ExprId QueueBuilder::TasksBut(const Share& share, const std::vector<size_t>& axes) const {
  std::vector<Axis> others;
  for (size_t i = 0; i < share.axes.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      others.push_back(share.axes[i]);
    }
  }
  return TaskCount(module_, others);
}

/// For each of the first axes of the case the producer's axis that all events between the two have
/// at its place: a task waits only for tasks that agree with it there.
std::vector<size_t> QueueBuilder::CommonAxes(const Share& producer, const Share& share) const {
  std::vector<size_t> common;
  for (const Axis& axis : share.axes) {
    std::vector<size_t> candidates;
    for (size_t i = 0; i < producer.axes.size(); ++i) {
      bool taken = std::find(common.begin(), common.end(), i) != common.end();
      if (!taken && SameExtent(module_, producer.axes[i], axis, ranges_)) {
        candidates.push_back(i);
      }
    }
    VisitEdges(producer, share, [&](const EventRef& notify, const EventRef& wait) {
      std::erase_if(candidates, [&](size_t candidate) {
        for (size_t i = 0; i < wait.indices.size(); ++i) {
          if (Is(module_, wait.indices[i], axis) &&
              Is(module_, notify.indices[i], producer.axes[candidate])) {
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
/// arrives or not, so of these the ones without a box are left out.
std::vector<QueueBuilder::Producer> QueueBuilder::ProducersOf(const Share& share) const {
  std::vector<Producer> producers;
  size_t axes = share.axes.size();
  for (NodeId id : cases_) {
    const Share& mine = std::get<Share>(module_.nodes[id]);
    bool any = false;
    VisitEdges(mine, share, [&](const EventRef&, const EventRef&) { any = true; });
    if (any && IsBox(module_, mine.axes)) {
      producers.push_back({id, CommonAxes(mine, share)});
      axes = std::min(axes, producers.back().axes.size());
    }
  }
  for (Producer& producer : producers) {
    producer.axes.resize(axes);
  }
  return producers;
}

bool QueueBuilder::Takes(const Share& share) const {
  std::vector<Producer> producers = ProducersOf(share);
  bool from_start = std::none_of(producers.begin(), producers.end(),
                                 [&](const Producer& each) { return IsPushed(each.node); });
  if (!IsBox(module_, share.axes)) {
    return from_start;
  }
  // What has no tasks at some size completes no trigger there.
  return from_start || std::any_of(producers.begin(), producers.end(), [&](const Producer& each) {
           ExprId tasks = TasksBut(std::get<Share>(module_.nodes[each.node]), each.axes);
           auto bounds = Bounds(module_, tasks, {}, ranges_);
           return bounds && bounds->lo >= 1;
         });
}

void QueueBuilder::Add(Share share, SourceRange range) {
  std::vector<Producer> producers = ProducersOf(share);
  ExprId count = MakeInt(module_, 0);
  for (const Producer& each : producers) {
    const Share& producer = std::get<Share>(module_.nodes[each.node]);
    count = MakeAdd(module_, count, TasksBut(producer, each.axes));
  }
  auto bounds = Bounds(module_, count, {}, ranges_);
  if (IsBox(module_, share.axes) && bounds && bounds->lo >= 1) {
    Event trigger;
    trigger.name = module_.devices[share.callee].name + "_due";
    trigger.trigger = true;
    trigger.range = range;
    trigger.count = count;
    EventRef on;
    for (const Axis& axis : iterations_) {
      trigger.dims.push_back({{}, axis.hi});
      on.indices.push_back({MakeRef(module_, axis.var), {}});
    }
    EventRef arrive = on;
    const size_t axes = producers.front().axes.size();
    for (size_t i = 0; i < axes; ++i) {
      trigger.dims.push_back({{}, share.axes[i].hi});
      on.indices.push_back({MakeRef(module_, share.axes[i].var), {}});
    }
    on.event = arrive.event = declare_(std::move(trigger));
    for (const Producer& each : producers) {
      EventRef mine = arrive;
      for (size_t axis : each.axes) {
        SymbolId var = std::get<Share>(module_.nodes[each.node]).axes[axis].var;
        mine.indices.push_back({MakeRef(module_, var), {}});
      }
      std::get<Share>(module_.nodes[each.node]).arrivals.push_back(std::move(mine));
    }
    ExprId tasks = TaskCount(module_, share.axes);
    capacity_ = capacity_ ? MakeAdd(module_, capacity_, tasks) : tasks;
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
