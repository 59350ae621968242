// Relations between tasks: (iterations, coordinates) -> (iterations, coordinates).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/sets/isl.h"
#include "analysis/sets/unknowns.h"

namespace etc {

/// `in` to `out`: these parameters become the dimensions of a relation; what else depends on data
/// is projected out.
Map ToMap(const Unknowns& unknowns, const Set& set, const std::vector<std::string>& in,
          const std::vector<std::string>& out);

/// Of a relation between tasks, the pairs that are in one iteration of each of the outermost
/// `repeats` repeats, which are around both.
Map InOneIteration(Map pairs, size_t repeats);
/// Those of which the second task is in a later iteration of the repeat inside of these.
Map InLaterIteration(Map pairs, size_t repeats);
/// Those of which it is in the next one, or exactly `distance` iterations later.
Map InNextIteration(Map pairs, size_t repeats, int64_t distance = 1);
/// How many iterations later the second task is in the repeat inside of the outermost `repeats`
/// ones, as a set of one dimension.
Set Distances(const Map& pairs, size_t repeats);
/// How many iterations later, at least, the second task is in the repeat inside of the outermost
/// `repeats` ones. Nothing where there are no pairs.
std::optional<int64_t> LeastDistance(const Map& pairs, size_t repeats);
/// From where `first` begins to where `second` leads from its ends.
Map After(const Map& first, const Map& second);

}  // namespace etc
