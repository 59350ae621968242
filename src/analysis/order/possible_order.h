// All order that there may be between tasks, for what is to be refuted.
#pragma once

#include "analysis/order/happens_before.h"

namespace etc {

/// The order if every event counts its notifies, whatever depends on data. Two tasks that it leaves
/// open race; about others nothing is certain.
class PossibleOrder {
 public:
  PossibleOrder(Unknowns& unknowns, const EventRelations& relations);

  /// Of these pairs of tasks, those that no composed chain orders.
  Map Open(const ProgramCall& x, const ProgramCall& y, const Map& pairs);
  /// Whether chains of events lead from task 1 of `x` to task 2 of `y`, which the point names with
  /// the sizes; true as well where that takes too long to say. It knows every chain, and not only
  /// those that can be composed for all sizes and tasks.
  bool MayOrder(const ProgramCall& x, const ProgramCall& y, const Point& point) const;

 private:
  Unknowns& unknowns_;
  HappensBefore chains_;
};

}  // namespace etc
