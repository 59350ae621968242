// A launch of a concrete program on some SMs of each rank: each runs its operations in order, a
// wait holds it until the element was notified as often as its count says.
//
// Counters only grow and a wait asks for no more than "at least", so an operation that can go on
// can still go on after any other operation: executions cannot block one another by going first.
// Two facts follow, and make a question about all interleavings one about a single greedy run.
//   - Every execution that goes on while it can ends in the same state. So the program hangs in all
//     interleavings or in none.
//   - Task B can start before task A ends, in some interleaving, exactly if B starts in the run
//     that never lets A end and goes on with everything else. (Whatever an interleaving does before
//     A ends, that run does too.)
// Explore() walks every state of a small launch instead; the tests hold both against each other.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "concrete.h"

namespace etc::mutation {

class Machine {
 public:
  /// `sms` of kOwnSm gives each task an SM of its own, and one SM of each rank no task: not for a
  /// program with events inside of an SM, which say that tasks share one.
  static constexpr int64_t kOwnSm = 0;
  Machine(const ConcreteProgram& program, int64_t sms);

  /// The operation that a stuck SM waits in, by element; nothing where all tasks end.
  std::optional<size_t> FindHang() const;

  /// Which tasks can start before `task` ends. The task itself is not among them.
  std::vector<bool> StartBeforeEndOf(size_t task) const;

  /// What walking all interleavings finds.
  struct Exploration {
    bool hangs = false;
    std::vector<std::vector<bool>> starts_before_end;  // [a][b]: b may start before a ends
  };
  /// Nothing when there are more than `max_states` states.
  std::optional<Exploration> Explore(size_t max_states) const;

 private:
  enum class Kind : uint8_t { Wait, Start, End, Notify };
  struct Op {
    Kind kind;
    size_t id;  // of the element or the task
    int64_t times = 1;
  };
  struct State {
    std::vector<size_t> next;      // by SM
    std::vector<int64_t> counted;  // by element, and behind these by SM and element
  };

  using Place = std::pair<size_t, size_t>;  // an SM and a position on it

  void Append(size_t task, size_t sm);
  size_t CounterOf(size_t element, size_t sm) const;
  State Initial() const;
  bool CanStep(const State& state, size_t sm) const;
  void Step(State& state, size_t sm) const;
  /// Goes on while it can, but does not pass `withheld`.
  State Finish(State state, std::optional<Place> withheld, std::vector<bool>* started) const;

  const ConcreteProgram& program_;
  std::vector<std::vector<Op>> ops_;      // by SM
  std::vector<std::vector<Place>> ends_;  // by task: on the SM that runs it, or on several
};

}  // namespace etc::mutation
