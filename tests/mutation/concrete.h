// A graph or a kernel at given sizes and data: every task with all that it waits for, touches and
// notifies. Tasks are run in program order, so that what they compute of indices is known to those
// behind them: which tasks there are, how many notifies an event counts, which element of it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "caller_data.h"
#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc::mutation {

/// An element of an event, numbered over all events.
struct Signal {
  size_t element;
  int64_t times = 1;
};

/// A task, or what an SM reads between tasks to know what to do: the range of the tasks, the
/// element that a wait or a notify is for. That is an access like those of a task, and races as
/// well.
struct Task {
  enum class Runs : uint8_t {
    Once,     // on the SM that its number gives
    EachSm,   // on each SM, with tasks of the step or not
    OnEntry,  // on each SM that has tasks of the step, before the first of them
  };
  Runs runs = Runs::Once;
  bool body = true;    // a task, not what is read between tasks
  bool after = false;  // whoever is given the task, and arrives for it where data say
  int64_t number = 0;  // among the tasks of its step; of what is read between tasks, its task's
  std::string name;    // `@f[0, 3]`
  std::vector<Signal> waits;
  std::vector<Signal> notifies;
  std::vector<Signal> arrivals;   // at elements of triggers, when an SM is given the task
  std::optional<size_t> trigger;  // the element that pushes it
  std::vector<size_t> reads;      // cells: elements, or bytes of the workspace; ascending
  std::vector<size_t> writes;
  std::vector<size_t>
      unwritten;  // of what it reads, the first cells that it has not written before
  std::vector<int64_t> written_ranks = {};  // in a program of all ranks: those at which it writes
};

/// One call, share or case, of one rank, repeats unrolled. Task number i of it runs on SM
/// (first + i) mod sms of its rank, or of a case on the SM that draws the number.
struct Step {
  size_t begin = 0;  // its tasks, and what is read between them
  size_t end = 0;
  int64_t tasks = 0;  // how many are tasks
  int64_t first = 0;
  std::vector<Signal> enter;  // waits of an SM before its first task of the step
  std::vector<Signal> leave;  // notifies after its last, once for each of its tasks
  int64_t rank = 0;           // whose SMs run it
  bool drawn = false;         // a case
  bool pushed = false;        // of a queue, by triggers
  std::optional<size_t> queue = {};
};

/// What an element of a trigger does when it is complete, besides its tasks: whoever completes it
/// waits for what says how many they are, pushes them, and arrives.
struct Push {
  size_t element = 0;
  std::string name;  // `@f[3, *]`
  std::vector<Signal> waits;
  std::vector<Signal> arrivals;
};

/// One queue of one rank in one iteration of the repeats around it: its cases are among steps that
/// follow each other, with those of the same dispatch on other ranks.
struct Queue {
  int64_t capacity = 0;
  size_t begin = 0;
  size_t end = 0;
  bool counted = false;      // SMs leave it when all of `pushes` have happened
  std::vector<Push> pushes;  // of a queue that counts them
};

struct ConcreteProgram {
  int64_t ranks = 1;
  std::vector<Step> steps;
  std::vector<Queue> queues;
  std::vector<Task> tasks;       // in program order
  std::vector<int64_t> needed;   // by element of an event: its count
  std::vector<bool> of_sm = {};  // by element: its notifies count for their own SM alone
  std::vector<int64_t> element_ranks = {};
  std::vector<std::string> element_names;
  std::vector<std::string> cell_tensors;  // what a cell belongs to
  std::vector<bool> cell_given;           // holds something when the launch starts
  std::string outside;                    // an index outside of its extent; empty when none is
  std::string overwritten;                // a read of what another buffer was stored over
  /// Device functions of which iterations depend on each other, and the tensors in question.
  std::set<std::pair<std::string, std::string>> dependent;
  /// Device functions that read of a local or an `out` parameter what they have not written.
  std::set<std::pair<std::string, std::string>> undefined;
  bool unknown = false;  // it depends on what is not known

  /// An integer that decides what happens.
  int64_t Known(Value value) {
    unknown = unknown || !value;
    return value.value_or(0);
  }
  /// The first index that is outside counts.
  void Outside(const std::string& text) { outside = outside.empty() ? text : outside; }
};

/// With several ranks the module is that of `JoinRanks`.
ConcreteProgram MakeConcrete(const Module& module, const Graph& graph, const Env& dims,
                             const DataChoice& data, int64_t ranks = 1);
ConcreteProgram MakeConcrete(const Module& module, const Kernel& kernel, const Env& dims,
                             const DataChoice& data, int64_t ranks = 1);

}  // namespace etc::mutation
