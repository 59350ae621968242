// The signals of a program that is played: one for each element of an event that tasks notify, and
// one for the end of a step where others wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ir/ids.h"
#include "ir/module.h"
#include "simulator/call_costs.h"
#include "simulator/play.h"
#include "target/target.h"

namespace etc {

/// Adds a signal that is not there yet to a few; `kNoSignal` is none.
void AddOnce(std::vector<uint32_t>& signals, uint32_t signal);

/// The same to many, of which `KeepOnce` then keeps each once.
void Add(std::vector<uint32_t>& signals, uint32_t signal);
void KeepOnce(std::vector<uint32_t>& signals);

class PlaySignals {
 public:
  /// All must outlive it. Tasks of steps that were added are changed where something waits for
  /// their end.
  PlaySignals(const Module& module, const Target& target, int64_t ranks, SimProgram& program)
      : module_(module), target_(target), ranks_(ranks), program_(program) {}

  /// The next step: `first_task` is the number of its first task in the program.
  void AddStep(size_t first_task) { first_task_.push_back(first_task); }

  /// The signal of an element that a task notifies.
  uint32_t Notified(EventId event, int64_t element);
  /// The signal of an element that a task waits for, or `kNoSignal`. Where nobody has notified the
  /// element, the round that does is not played: the one before it stands for it.
  uint32_t Awaited(EventId event, int64_t element) const;
  /// From a stored result to whoever waits for it, and for those of all peers.
  [[nodiscard]] double LatencyOf(Mechanism mechanism, bool of_peers) const;
  /// That all tasks of a step have ended, seen `latency` microseconds later.
  uint32_t EndOf(uint32_t step, double latency);

 private:
  uint32_t New(double latency);
  double LatencyOf(EventId event) const;

  const Module& module_;
  const Target& target_;
  int64_t ranks_;
  SimProgram& program_;
  std::map<std::pair<EventId, int64_t>, uint32_t> elements_;
  std::map<EventId, uint32_t> last_element_;
  std::map<std::pair<uint32_t, double>, uint32_t> ends_;
  std::vector<size_t> first_task_;  // of each step
};

}  // namespace etc
