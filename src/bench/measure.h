// Runs the programs of a benchmark from the same inputs, and times them by turns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/place.h"
#include "bench/report.h"
#include "bench/tensors.h"

namespace etc {

struct BenchProgram {
  std::string name;
  const Program* program = nullptr;
};

/// First each program runs once, and what it wrote is compared with what the first one wrote. Then
/// all of them take turns, a few rounds to warm up and `launches` rounds that are timed. Where a
/// second launch changes an inout again, the inouts are restored before each.
[[nodiscard]] std::vector<BenchRow> MeasureByTurns(BenchPlace& place, const BenchTensors& tensors,
                                                   const std::string& graph,
                                                   const std::vector<BenchProgram>& programs,
                                                   int64_t launches);

}  // namespace etc
