// Random small programs whose events are meant to be right.
#pragma once

#include <cstdint>
#include <string>

namespace etc::mutation {

/// A program of one to five calls: chains, fan-in, fan-out, stencils, gathers, ragged tiles,
/// repeats of one or two levels, and buffers that are written again. The same for the same seed.
std::string GenerateProgram(uint64_t seed);

}  // namespace etc::mutation
