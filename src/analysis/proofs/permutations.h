// What stands for the coordinates of tasks: index tensors that permute the values of one (distinct
// elements in 0 .. n at n indices), and quotients by a size of one that holds two axes (`t / n` of
// a task `t` in 0 .. m * n).
#pragma once

#include <optional>

#include "analysis/events.h"

namespace etc {

/// The coordinate of the call's tasks of an instance of which the element is a permutation: for
/// each value of what else the element is read at, the coordinate runs through 0 .. n, and so does
/// the element.
std::optional<size_t> PermutedCoordinate(Unknowns& unknowns, const ProgramCall& call,
                                         const Term& element, int instance);

/// A coordinate that runs through `rows * size` values, of which the term is the row.
struct FlatCoordinate {
  size_t axis;
  PwAff rows;
  PwAff size;
};
std::optional<FlatCoordinate> FlatCoordinateOf(Unknowns& unknowns, const ProgramCall& call,
                                               const Term& quotient, int instance);

/// A notify in which each coordinate that only occurs through such an element stands for it, and
/// one that only occurs through its row for that, with one more variable for the place in the row:
/// it happens for every element of the event as often as the one that is given.
EdgeRelation InPlainCoordinates(Unknowns& unknowns, EdgeRelation notify);

}  // namespace etc
