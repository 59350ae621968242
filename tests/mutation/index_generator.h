// Random programs whose elements and events are named by elements of tensors, and by elements at
// indices that are elements themselves.
#pragma once

#include <cstdint>
#include <string>

namespace etc::mutation {

/// A program for a seed, always the same for it. Nearly half are right.
std::string GenerateIndices(uint64_t seed);

}  // namespace etc::mutation
