// Random small programs of two ranks that are right: rows that ranks work on, send and add up.
#pragma once

#include <cstdint>
#include <string>

namespace etc::mutation {

/// The same for the same seed.
std::string GenerateRanks(uint64_t seed);

}  // namespace etc::mutation
