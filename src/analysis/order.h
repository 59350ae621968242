// What comes before what in a program, as its events have it or, in a list of launches, the order
// of the text.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "analysis/unjoined.h"

namespace etc {

/// Whether the schedule alone, whatever the events, completes each task before any that stands
/// behind it in program order starts, if that is of another call or of another iteration. So it is
/// in a list of launches, which follow each other; the SMs of a persistent kernel wait for nothing
/// but events.
bool FollowsProgramOrder(const CallProgram& program);

/// Has two layers. Questions about whole calls look at events alone, and cost next to nothing.
/// Questions about elements compose relations between tasks, which are made for the first of them.
class Order {
 public:
  /// Both must outlive it.
  Order(const Module& module, const CallProgram& program);
  ~Order();

  // Whole calls.

  /// Whether every task of `x` completes before any task of `y` starts: where a repeat is around
  /// both, in one iteration of it. Nothing is said of calls of different blocks, nor, by events, of
  /// those in a repeat of a repeat: the next iteration may be one of the outer repeat.
  bool Before(size_t x, size_t y);
  /// The same for `y` in the next iteration of the repeat around both.
  bool BeforeNext(size_t x, size_t y);

  /// Those of the events, tried one after the other, without which the rest of them joins all the
  /// uses of tensors that it joins with them.
  std::set<EventId> Redundant(const std::vector<EventId>& events);

  // Elements.

  /// Whether all that writes the tensor comes before what follows the first so many waits of the
  /// call, if the events count their notifies.
  bool IsComplete(const ProgramCall& call, size_t waits, TensorId tensor);

 private:
  class WholeCalls;
  struct Elements;

  const WholeCalls& Whole();

  const Module& module_;
  const CallProgram& program_;
  std::unique_ptr<WholeCalls> whole_;
  std::unique_ptr<Elements> elements_;
};

}  // namespace etc
