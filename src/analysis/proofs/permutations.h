// Index tensors that permute the values of a task's coordinate: distinct elements in 0 .. n at n
// indices.
#pragma once

#include <optional>

#include "analysis/events.h"

namespace etc {

/// The coordinate of the call's tasks of an instance of which the element is a permutation: for
/// each value of what else the element is read at, the coordinate runs through 0 .. n, and so does
/// the element.
std::optional<size_t> PermutedCoordinate(Unknowns& unknowns, const ProgramCall& call,
                                         const Term& element, int instance);

/// A notify in which each coordinate that only occurs through such an element stands for it: it
/// happens for every element of the event as often as the one that is given.
EdgeRelation WithoutPermutations(Unknowns& unknowns, EdgeRelation notify);

}  // namespace etc
