// A graph or a kernel at given sizes and data: every task with all that it waits for, touches and
// notifies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc::mutation {

/// An element of an event, numbered over all events.
struct Signal {
  size_t element;
  int64_t times = 1;
};

struct Task {
  size_t step;
  std::string name;  // `@f[0, 3]`
  std::vector<Signal> waits;
  std::vector<Signal> notifies;
  std::vector<size_t> reads;  // cells: elements, or bytes of the workspace; ascending
  std::vector<size_t> writes;
};

/// One call or share, repeats unrolled. Task number i of it runs on SM (first + i) mod sms.
struct Step {
  size_t begin = 0;  // its tasks
  size_t end = 0;
  int64_t first = 0;
  std::vector<Signal> enter;  // waits of an SM before its first task of the step
  std::vector<Signal> leave;  // notifies after its last, once for each of its tasks
};

struct ConcreteProgram {
  std::vector<Step> steps;
  std::vector<Task> tasks;      // in program order
  std::vector<int64_t> needed;  // by element of an event: its count
  std::vector<std::string> element_names;
  std::vector<std::string> cell_tensors;  // what a cell belongs to
  std::vector<bool> cell_given;           // holds something when the launch starts
  std::string outside;                    // an index outside of its extent; empty when none is
  bool unknown = false;                   // it depends on what is not known
};

/// How the elements of index tensors are chosen.
struct DataChoice {
  enum class Kind { Least, Greatest, Random } kind = Kind::Least;
  uint64_t seed = 0;
};

ConcreteProgram MakeConcrete(const Module& module, const Graph& graph, const Env& dims,
                             const DataChoice& data);
ConcreteProgram MakeConcrete(const Module& module, const Kernel& kernel, const Env& dims,
                             const DataChoice& data);

}  // namespace etc::mutation
