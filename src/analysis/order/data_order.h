// The order that events impose where data decide which elements are notified and waited for: a
// token notifies the experts that it has chosen, and an expert waits for its own element.
#pragma once

#include <set>

#include "analysis/events.h"

namespace etc {

/// Whether task 2 of each pair in the set, of `y`, waits for an element that task 1, of `x`,
/// notifies, where data say which: the elements of tensors in the set are the same ones in the
/// edges. The set has all that is known of its terms.
bool MeetsInElements(Unknowns& unknowns, const EventRelations& relations,
                     const std::set<EventId>& trusted, const ProgramCall& x, const ProgramCall& y,
                     const Set& pairs);

}  // namespace etc
