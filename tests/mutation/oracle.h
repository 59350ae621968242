// What is really wrong with a program at small sizes. Shares nothing with src/analysis but what
// makes one program of all ranks (ranks.h): it runs the bodies, lists the tasks, and looks at all
// orders in which a launch can run them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "concrete.h"

namespace etc::mutation {

enum class Wrong {
  OutOfBounds,  // an index outside of its extent
  Overwritten,  // a task reads a buffer that another one in the same memory was stored over
  Hang,         // some launch never ends
  Race,         // two tasks that touch a cell, one writing, in an order that is not the program's
  Iterations,   // two iterations of a `for` in a task that touch a cell, one writing
  Count,        // an element that is used has another number of notifies than its count: a rule of
                // the language, which some programs that break it survive
  Overflow,     // a queue with more tasks than places
  Early,        // a task that an SM may be given before one that it waits for: a rule, too
  Undefined,    // a body reads what no task before it in program order has written, nor its own
                // before; of a local or an `out` parameter, what its own has not
  Unreceived,   // a task notifies at a peer what no task waits for, or writes at one that it does
                // not notify: it may come into the peer's next launch
};
const char* Name(Wrong wrong);

struct Verdict {
  bool judged = false;                 // at one size at least
  std::map<Wrong, std::string> wrong;  // with an example of each
  /// What races: the tensor and the two device functions, `workspace` for a place in it.
  struct Racing {
    std::string tensor;
    std::string first;
    std::string second;
    auto operator<=>(const Racing&) const = default;
  };
  std::set<Racing> racing;
  std::set<std::pair<std::string, std::string>> dependent;  // device functions and their tensors
  int64_t explored = 0;       // launches of which every state was visited as well
  int64_t disagreements = 0;  // of these, with another result: a defect of the oracle
};

struct JudgeOptions {
  /// Sizes to judge at; where empty, the smallest few values of every dimension.
  std::vector<std::map<std::string, int64_t>> sizes;
  /// How many values of a dimension those are, and how many combinations.
  int64_t values = 13;
  size_t combinations = 26;
  /// How many states of one launch to visit, to hold the reasoning against; 0 for none.
  size_t max_states = 0;
  /// Whether computed tensors are taken to be what device functions ask of them, and written.
  bool assumes = true;
  /// How many random choices of data to judge, besides the least and the greatest values.
  uint64_t random_data = 2;
};

/// Judges every graph and kernel, of a program with a mesh for each number of ranks. Nothing is
/// said about sizes at which the program depends on data that it computes itself.
Verdict Judge(const Module& module, const JudgeOptions& options);

}  // namespace etc::mutation
