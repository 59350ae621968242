#include "analysis/order/steps.h"

#include "analysis/sets/task_pairs.h"

namespace etc {
namespace {

TaskSteps None(size_t calls) {
  return {std::vector<std::vector<Map>>(calls, std::vector<Map>(calls)),
          std::vector<bool>(calls, false)};
}

Map StepOf(const EdgeRelation& notify, const EdgeRelation& wait) {
  return After(notify.elements, Map(isl_map_reverse(wait.elements.copy())));
}

bool IsOfOneEvent(const EdgeRelation& notify, const EdgeRelation& wait) {
  return notify.edge->ref->event == wait.edge->ref->event;
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

TaskSteps StepsOf(size_t calls, const EventRelations& relations, const std::set<EventId>& trusted,
                  EventSteps& known) {
  TaskSteps steps = None(calls);
  for (const EdgeRelation& notify : relations.notifies) {
    steps.may_lack[notify.call] = !notify.exists;
    for (const EdgeRelation& wait : relations.waits) {
      if (!IsOfOneEvent(notify, wait) || !notify.certain || !wait.certain ||
          !trusted.contains(notify.edge->ref->event)) {
        continue;
      }
      Map& step = known[{notify.edge->ref, wait.edge->ref}];
      if (!step) {
        step = StepOf(notify, wait);
      }
      AddTo(steps.between[notify.call][wait.call], step);
    }
  }
  return steps;
}

TaskSteps PossibleSteps(size_t calls, const EventRelations& relations) {
  TaskSteps steps = None(calls);
  for (const EdgeRelation& notify : relations.notifies) {
    for (const EdgeRelation& wait : relations.waits) {
      if (IsOfOneEvent(notify, wait)) {
        AddTo(steps.between[notify.call][wait.call], StepOf(notify, wait));
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
