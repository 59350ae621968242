// Triggers whose elements data choose: a task arrives where it notifies, and what says how many do
// arrives at each element, so that one of which nothing is chosen is complete, too.
#include <algorithm>
#include <utility>

#include "analysis/shapes.h"
#include "ir/queue.h"
#include "ir/rewrite.h"
#include "ir/task_count.h"
#include "schedule/queue_builder.h"
#include "schedule/queue_edges.h"

namespace etc {
namespace {

/// The tensors of which the launch computes what is read.
template <class Read>
void AddComputed(const Module& module, const Read& read, std::set<TensorId>& tensors) {
  VisitExprs(module, read, [&](ExprId id) {
    const auto* load = std::get_if<Load>(&module.exprs[id]);
    if (load != nullptr && (module.tensors[load->tensor].kind == TensorKind::Buffer ||
                            module.tensors[load->tensor].access != Access::In)) {
      tensors.insert(load->tensor);
    }
  });
}

bool AreValues(const EventRef& ref) {
  return std::all_of(ref.indices.begin(), ref.indices.end(),
                     [](const EventIndex& index) { return index.lo && !index.hi; });
}

bool IsWaitedOrNotified(const Share& share, EventId event) {
  for (const auto* refs : {&share.range_waits, &share.enter_waits, &share.waits, &share.notifies,
                           &share.leave_notifies}) {
    if (std::any_of(refs->begin(), refs->end(),
                    [&](const EventRef& ref) { return ref.event == event; })) {
      return true;
    }
  }
  return false;
}

std::vector<SymbolId> CoordinatesOf(const Share& share) {
  std::vector<SymbolId> vars;
  for (const Axis& axis : share.axes) {
    vars.push_back(axis.var);
  }
  return vars;
}

}  // namespace

/// The first one: the others must agree with it.
std::optional<QueueBuilder::ChosenEdge> QueueBuilder::ChosenEdgeTo(const Share& share) const {
  std::optional<ChosenEdge> chosen;
  for (NodeId id : cases_) {
    VisitEdges(std::get<Share>(module_.nodes[id]), share,
               [&](const EventRef& notify, const EventRef& wait) {
                 if (!chosen && ReadsTensor(module_, notify) && !ReadsTensor(module_, wait)) {
                   chosen = ChosenEdge{id, &notify, &wait};
                 }
               });
  }
  return chosen;
}

/// Where the indices of the event have the iterations around and then the first coordinate of the
/// case, which is what data choose; absent where they have anything else, or where the event does
/// not count what is chosen in a form that is proved.
std::optional<std::vector<size_t>> QueueBuilder::PlacesIn(const ChosenEdge& edge,
                                                          const Share& share) const {
  const EventRef& notify = *edge.notify;
  const EventRef& wait = *edge.wait;
  const Event& event = module_.events[notify.event];
  const size_t iterations = around_.iterations.size();
  if (!IsPushed(edge.node) || MostGiven(module_, share) == 0 ||
      event.dims.size() != iterations + 1 || !wait.axes.empty() || wait.guard || notify.guard ||
      notify.peer || !AreValues(wait) || !AreValues(notify) ||
      around_.notifies(notify.event) != 1) {
    return std::nullopt;
  }
  std::vector<size_t> places;
  for (size_t i = 0; i <= iterations; ++i) {
    const Axis& axis = i < iterations ? around_.iterations[i] : share.axes.front();
    auto is_axis = [&](const EventIndex& index) { return IsValueOf(module_, index, axis); };
    auto found = std::find_if(wait.indices.begin(), wait.indices.end(), is_axis);
    if (found == wait.indices.end()) {
      return std::nullopt;
    }
    places.push_back(static_cast<size_t>(found - wait.indices.begin()));
    if (i < iterations && !is_axis(notify.indices[places.back()])) {
      return std::nullopt;
    }
  }
  const EventDim& dim = event.dims[places.back()];
  const auto* count = std::get_if<Load>(&module_.exprs[event.count]);
  bool counted = count != nullptr && !count->indices.empty() && dim.var &&
                 IsSymbol(module_, count->indices.back(), dim.var) &&
                 std::holds_alternative<Load>(module_.exprs[notify.indices[places.back()].lo]);
  const Axis& axis = share.axes.front();
  return counted && !axis.lo && SameSize(module_, dim.extent, axis.hi, ranges_)
             ? std::optional(places)
             : std::nullopt;
}

std::optional<QueueBuilder::Updates> QueueBuilder::UpdatesOf(const Share& share) const {
  auto chosen = ChosenEdgeTo(share);
  auto places = chosen ? PlacesIn(*chosen, share) : std::nullopt;
  if (!places) {
    return std::nullopt;
  }
  Updates updates;
  const Event& event = module_.events[chosen->notify->event];
  std::vector<SymbolId> vars;
  for (const EventDim& dim : event.dims) {
    vars.push_back(dim.var);
  }
  Substitution names = CopyIndices(module_, vars);
  for (size_t i = 0; i < places->size(); ++i) {
    bool iteration = i < around_.iterations.size();
    const Axis& axis =
        iteration ? around_.iterations[i] : share.axes[i - around_.iterations.size()];
    updates.trigger.dims.push_back({vars[(*places)[i]], axis.hi});
    updates.on.indices.push_back({MakeRef(module_, axis.var), {}});
  }
  updates.trigger.name = DueName(share);
  updates.trigger.trigger = true;
  ExprId others = MakeInt(module_, 0);
  for (NodeId id : cases_) {
    const Share& mine = std::get<Share>(module_.nodes[id]);
    bool any = false;
    VisitEdges(mine, share, [&](const EventRef&, const EventRef&) { any = true; });
    if (!any || !mine.pushed_by) {
      continue;  // what is there from the start is given out first
    }
    auto update = UpdateBy(id, share, *chosen, updates, others);
    if (!update) {
      return std::nullopt;
    }
    if (id == chosen->node) {  // in the order of the trigger's axes
      for (size_t i = 0; i < places->size(); ++i) {
        update->arrival.indices[i] = chosen->notify->indices[(*places)[i]];
      }
      update->arrival.axes = chosen->notify->axes;
    }
    updates.updates.push_back(std::move(*update));
  }
  // Of what is chosen there may be none.
  auto sure = Bounds(module_, others, {}, ranges_);
  if (!sure || sure->lo < 1) {
    return std::nullopt;
  }
  for (Update& update : updates.updates) {
    if (!AddWaits(share, update.arrival, event.count, update)) {
      return std::nullopt;
    }
    update.arrival = Clone(module_, update.arrival, {});
    for (EventRef& wait : update.waits) {
      wait = Clone(module_, wait, {});
    }
  }
  updates.trigger.count = MakeAdd(module_, Clone(module_, event.count, names), others);
  return updates;
}

/// A task that is chosen arrives once for each choice. Of the others a task arrives at the element
/// that events say, and a case of a single task at all of them. `count`: the arrivals of others.
std::optional<QueueBuilder::Update> QueueBuilder::UpdateBy(NodeId node, const Share& share,
                                                           const ChosenEdge& chosen,
                                                           const Updates& updates,
                                                           ExprId& count) const {
  const Share& mine = std::get<Share>(module_.nodes[node]);
  if (!IsBox(module_, mine.axes)) {
    return std::nullopt;  // who pushes its tasks arrives for them
  }
  Update update{node, {}, {}};
  for (const Axis& axis : around_.iterations) {
    update.arrival.indices.push_back({MakeRef(module_, axis.var), {}});
  }
  if (node == chosen.node) {
    bool only = true;
    VisitEdges(mine, share, [&](const EventRef& notify, const EventRef& wait) {
      only &= &notify == chosen.notify && &wait == chosen.wait;
    });
    update.arrival.indices.resize(updates.on.indices.size());
    return only ? std::optional(update) : std::nullopt;
  }
  const size_t axes = updates.on.indices.size() - around_.iterations.size();
  std::vector<size_t> common = CommonAxes(mine, share);
  if (common.size() >= axes) {
    std::vector<Axis> others = mine.axes;
    for (size_t i = 0; i < axes; ++i) {
      update.arrival.indices.push_back({MakeRef(module_, mine.axes[common[i]].var), {}});
    }
    common.resize(axes);
    std::sort(common.rbegin(), common.rend());
    for (size_t axis : common) {
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
    }
    count = MakeAdd(module_, count, TaskCount(module_, others));
    return update;
  }
  auto tasks = Bounds(module_, TaskCount(module_, mine.axes), {}, ranges_);
  if (!tasks || tasks->lo != 1 || tasks->hi != 1) {
    return std::nullopt;
  }
  for (size_t i = 0; i < axes; ++i) {
    SymbolId var = module_.symbols.Add(module_.symbols[share.axes[i].var]);
    update.arrival.axes.push_back({var, {}, share.axes[i].hi});
    update.arrival.indices.push_back({MakeRef(module_, var), {}});
  }
  count = MakeAdd(module_, count, MakeInt(module_, 1));
  return update;
}

/// Who arrives waits for what says where: for what the task waits for that announces these tensors,
/// or, where they follow from other waits, for all of it; and for the count as the pushed task
/// does, for what the task in front waits for or notifies, too. False where nothing of this kind is
/// found.
bool QueueBuilder::AddWaits(const Share& share, const EventRef& arrival, ExprId count,
                            Update& update) const {
  const Share& mine = std::get<Share>(module_.nodes[update.node]);
  auto add = [&](const Share& waiting, const auto& takes) {
    bool found = false;
    for (const auto* waits : {&waiting.range_waits, &waiting.enter_waits, &waiting.waits}) {
      for (const EventRef& wait : *waits) {
        if (!ReadsTensor(module_, wait) && takes(wait)) {
          update.waits.push_back(wait);
          found = true;
        }
      }
    }
    return found;
  };
  std::set<TensorId> places, counts;
  AddComputed(module_, arrival, places);
  AddComputed(module_, count, counts);
  bool ok = true;
  for (TensorId tensor : places) {
    std::set<EventId> events = around_.announces(tensor);
    ok = ok && (add(mine, [&](const EventRef& wait) { return events.contains(wait.event); }) ||
                add(mine, [](const EventRef&) { return true; }));
  }
  for (TensorId tensor : counts) {
    std::set<EventId> events = around_.announces(tensor);
    auto is_common = [&](const Share& waiting) {
      return [this, &events, vars = CoordinatesOf(waiting)](const EventRef& wait) {
        return events.contains(wait.event) && !Mentions(module_, wait, vars);
      };
    };
    ok = ok && (add(mine, is_common(mine)) || add(share, is_common(share)));
  }
  return ok && std::all_of(update.waits.begin(), update.waits.end(), [&](const EventRef& wait) {
           return IsWaitedOrNotified(mine, wait.event);
         });
}

}  // namespace etc
