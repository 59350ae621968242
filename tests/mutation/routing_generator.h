// Random right programs in which data decide which tasks run, how many notifies an event counts and
// which element of it: items are sorted into groups, worked on group by group, and taken back.
#pragma once

#include <cstdint>
#include <string>

namespace etc::mutation {

/// A program for a seed, always the same for it.
std::string GenerateRouting(uint64_t seed);

}  // namespace etc::mutation
