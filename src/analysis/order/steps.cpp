#include "analysis/order/steps.h"

#include <algorithm>

#include "analysis/sets/task_pairs.h"

namespace etc {
namespace {

Map StepOf(const EdgeRelation& notify, const EdgeRelation& wait) {
  return After(notify.elements, Map(isl_map_reverse(wait.elements.copy())));
}

/// The waits for each event.
std::map<EventId, std::vector<const EdgeRelation*>> WaitsFor(const EventRelations& relations) {
  std::map<EventId, std::vector<const EdgeRelation*>> waits;
  for (const EdgeRelation& wait : relations.waits) {
    waits[wait.edge->ref->event].push_back(&wait);
  }
  return waits;
}

/// The pieces of a relation that are not inside of another one. Joining pieces takes time by the
/// square of their number, and most of what a longer chain adds is known from a shorter one.
Map PiecesOutside(const Map& map, const Map& other) {
  isl_basic_map_list* pieces = isl_map_get_basic_map_list(map.get());
  Map outside(isl_map_empty(isl_map_get_space(map.get())));
  for (isl_size i = 0; i < isl_basic_map_list_size(pieces); ++i) {
    Map piece(isl_map_from_basic_map(isl_basic_map_list_get_at(pieces, i)));
    if (!IsSubset(piece, other)) {
      outside = outside | piece;
    }
  }
  isl_basic_map_list_free(pieces);
  return outside;
}

}  // namespace

const Map& CallSteps::Between(size_t from, size_t to) const {
  static const Map none;
  const std::vector<Step>& steps = from_[from];
  auto found = std::ranges::lower_bound(steps, to, {}, &Step::to);
  return found == steps.end() || found->to != to ? none : found->pairs;
}

Map& CallSteps::Between(size_t from, size_t to) {
  std::vector<Step>& steps = from_[from];
  auto found = std::ranges::lower_bound(steps, to, {}, &Step::to);
  return found == steps.end() || found->to != to ? steps.insert(found, {to, {}})->pairs
                                                 : found->pairs;
}

TaskSteps StepsOf(size_t calls, const EventRelations& relations, const std::set<EventId>& trusted,
                  EventSteps& known) {
  TaskSteps steps{CallSteps(calls), std::vector<bool>(calls)};
  auto waits = WaitsFor(relations);
  for (const EdgeRelation& notify : relations.notifies) {
    steps.may_lack[notify.call] = !notify.exists;
    EventId event = notify.edge->ref->event;
    if (!notify.certain || !trusted.contains(event)) {
      continue;
    }
    for (const EdgeRelation* wait : waits[event]) {
      if (!wait->certain) {
        continue;
      }
      Map& step = known[{notify.edge->ref, wait->edge->ref}];
      if (!step) {
        step = Map(isl_map_compute_divs(StepOf(notify, *wait).copy()));
      }
      if (!IsEmpty(step)) {
        AddTo(steps.calls.Between(notify.call, wait->call), step);
      }
    }
  }
  return steps;
}

TaskSteps PossibleSteps(size_t calls, const EventRelations& relations) {
  TaskSteps steps{CallSteps(calls), std::vector<bool>(calls)};
  auto waits = WaitsFor(relations);
  for (const EdgeRelation& notify : relations.notifies) {
    for (const EdgeRelation* wait : waits[notify.edge->ref->event]) {
      Map step = StepOf(notify, *wait);
      if (!IsEmpty(step)) {
        AddTo(steps.calls.Between(notify.call, wait->call), step);
      }
    }
  }
  return steps;
}

bool AddTo(Map& sum, const Map& part) {
  // Else isl looks for the quotients in a sum whenever it compares something with that.
  Map known(isl_map_compute_divs(part.copy()));
  Map added = sum ? PiecesOutside(known, sum) : known;
  if (IsEmpty(added)) {
    return false;
  }
  sum = sum ? Coalesce(sum | added) : added;
  return true;
}

}  // namespace etc
