// The event that orders two calls which race.
#pragma once

#include <optional>
#include <string>

#include "analysis/regions.h"

namespace etc {

struct MissingEvent {
  std::string declaration;  // `event %f_done[n] count 4;`, empty where there is such an event
  std::string notify;       // `notify (i, j) => %f_done[i]`, empty where the first call has it
  std::string wait;         // `wait (i) => %f_done[i]`
};

/// An event from `x` to the later call `y` for the tasks that conflict: one element for each value
/// of the coordinates that a conflict always has in common. Between iterations, for the nearest
/// ones of those that race, which are `open`. Nothing where its shape would depend on data.
std::optional<MissingEvent> FindMissingEvent(Unknowns& unknowns, const ProgramCall& x,
                                             const ProgramCall& y, const Set& conflict,
                                             const Set& open);

}  // namespace etc
