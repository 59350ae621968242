// The tensors that all programs of a benchmark share.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/place.h"
#include "support/assignments.h"
#include "support/diagnostics.h"
#include "tensor/program_view.h"

namespace etc {

struct BenchSources {
  std::map<std::string, int64_t> dims;
  Assignments inputs;                     // files by name of parameter
  std::map<std::string, int64_t> values;  // of every element of an integer parameter
  uint64_t seed = 0;
  double scale = 1.0;
};

struct BenchTensor {
  std::string name;
  etc_access access = ETC_IN;
  etc_dtype dtype = ETC_F32;
  std::vector<int64_t> shape;
  std::array<int64_t, 2> tile{};  // of a layout, in which the data is; else zeros
  int64_t bytes = 0;
  void* data = nullptr;
  void* original = nullptr;     // of an inout: what each launch starts from
  std::optional<int64_t> mean;  // of the elements of an integer input, rounded
};

struct BenchTensors {
  std::map<std::string, int64_t> dims;
  std::vector<BenchTensor> all;  // in the order of the graph's parameters

  void BindTo(Instance& instance) const;
  /// Gives every inout what each launch starts from.
  void Restore(BenchPlace& place) const;
  /// Fills every out with not-a-numbers (integers: -1).
  void Poison(BenchPlace& place) const;
};

/// Makes the tensors of one graph of `program`, and only parts of them in this program's memory:
/// the first 32 MiB of a parameter without a file are what `etc run` makes of it, and the rest
/// repeats them. Parameters with a layout take them for packed ones. Only integers that are
/// promised to be distinct or in order are all made here. A graph of several ranks is an error.
[[nodiscard]] std::optional<BenchTensors> MakeBenchTensors(BenchPlace& place,
                                                           const Program& program,
                                                           const GraphView& graph,
                                                           const BenchSources& sources,
                                                           Diagnostics& diagnostics);

}  // namespace etc
