// What a benchmark found, as a table or as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/statistics.h"

namespace etc {

/// What a program wrote, beside what the first one did from the same inputs.
struct BenchOutput {
  std::string name;
  int64_t elements = 0;
  int64_t not_finite = 0;             // of these, of an out: infinite or not a number
  bool as_finite = true;              // what is not finite in either is the same in both
  bool equal = true;                  // in every bit
  std::optional<double> relative_l2;  // of an out that is not: |this - first| / |first|
};

struct BenchRow {
  std::string name;
  Spread ms;  // of one launch
  std::vector<BenchOutput> outputs;
};

/// How fast the memory is read at best.
struct Bandwidth {
  double bytes_per_second = 0;
  bool measured = false;  // in this run; else it was given
};

struct BenchReport {
  std::string place;
  std::string target;
  std::string graph;
  std::map<std::string, int64_t> dims;
  int64_t launches = 0;
  std::optional<int64_t> bytes_read;   // that a launch must read once, where that is known
  std::optional<Bandwidth> bandwidth;  // of a GPU
  std::vector<BenchRow> rows;          // ratios are to the first

  /// Milliseconds that reading takes at best, where both are known.
  std::optional<double> FloorMs() const;
};

[[nodiscard]] std::string BenchTable(const BenchReport& report);
[[nodiscard]] std::string BenchJson(const BenchReport& report);

}  // namespace etc
