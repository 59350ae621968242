// Runs the programs of a benchmark from the same inputs, and times them by turns.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/place.h"
#include "bench/report.h"
#include "bench/tensors.h"
#include "tensor/bytes.h"

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

/// The seconds for which programs take turns whose launches take so many milliseconds.
[[nodiscard]] double TurnsSeconds(const std::vector<double>& ms, int64_t launches);

/// The same of program after program: what each wrote is looked at once, and of the inouts only
/// whether a second launch of the first program changes them again.
class Turns {
 public:
  Turns(BenchPlace& place, const BenchTensors& tensors, std::string graph)
      : place_(place), tensors_(tensors), graph_(std::move(graph)) {}

  /// Nothing where `stop` was set before the last launch; then the launches that are under way end,
  /// and no more begin.
  [[nodiscard]] std::optional<std::vector<BenchRow>> Measure(
      const std::vector<BenchProgram>& programs, int64_t launches, const std::atomic<bool>& stop);

 private:
  void Look(const BenchProgram& program, TimedLauncher& launcher);

  BenchPlace& place_;
  const BenchTensors& tensors_;
  const std::string graph_;
  std::map<std::string, Bytes> first_;  // outs of the first program
  std::optional<bool> settles_;
  std::map<const Program*, std::vector<BenchOutput>> outputs_;
};

}  // namespace etc
