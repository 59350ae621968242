// What events connect a case of a queue with those in front.
#pragma once

#include "ir/module.h"
#include "ir/walk.h"

namespace etc {

/// Whether the index is the value of the axis and nothing else.
inline bool IsValueOf(const Module& module, const EventIndex& index, const Axis& axis) {
  return index.lo && !index.hi && IsSymbol(module, index.lo, axis.var);
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

}  // namespace etc
