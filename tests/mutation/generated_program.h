// A random program before it is text.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace etc::mutation {

/// What a task that writes the rows lo .. hi of its output reads of an input.
enum class Pattern { Same, Halo, All, Mirror, Gather };

struct Input {
  size_t tensor;
  Pattern pattern;
};

/// How the last tile is cut: by the range of its loop, by an `if`, or not at all, where tiles
/// divide the rows.
enum class Ragged { Range, If, None };

/// The counters of the event that a call notifies: one, one for each tile, one for each task.
enum class Counters { One, Tiles, Tasks };

/// One device function and its call.
struct Stage {
  std::vector<Input> inputs;
  size_t output;
  bool accumulates = false;  // reads its output as well
  bool scatters = false;     // writes the rows that an index tensor names
  bool sums = false;         // writes the sum of what stands before it in the tile, by a scan
  int64_t tile = 1;
  int64_t columns = 0;      // of the output; 0 when it has one axis
  bool per_column = false;  // a task for each tile and column
  Ragged ragged = Ragged::Range;
  Counters counters = Counters::One;
  size_t depth = 0;                  // repeats around it
  bool notified = false;             // something waits for it
  std::set<std::string> waits = {};  // references to events
};

/// A repeat around the stages from `begin` to before `end`; a second one stands in the first.
struct Loop {
  std::string var;
  int64_t iterations;
  size_t begin = 0;
  size_t end = 0;
};

struct Buffer {
  std::string name;
  int64_t columns = 0;
  bool layered = false;  // has an axis for the iterations
  bool param = false;
};

struct GeneratedProgram {
  int64_t lo = 1;  // the range of the dimension `n`
  int64_t hi = 1;
  int64_t multiple = 1;
  std::vector<Buffer> buffers;  // the last is the result
  std::vector<Stage> stages;
  std::vector<Loop> loops;
};

/// `[i, j]`, or nothing where there is no index.
std::string Indices(const std::vector<std::string>& indices);

std::string TextOf(const GeneratedProgram& program);

}  // namespace etc::mutation
