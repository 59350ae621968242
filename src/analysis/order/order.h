// What completes before what in a program: whole calls, and what they do to tensors. This is the
// layer for who has no sets of tasks at hand; `task_order.h` answers about those.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "analysis/order/use_chains.h"

namespace etc {

class WholeCalls;

/// The order of a program by its schedule and its events. Questions about whole calls look at the
/// clauses of events alone, and cost next to nothing. Questions about elements compose relations
/// between tasks, which are made for the first of them.
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

  // The uses of a tensor, whichever elements they touch.

  /// Calls `on_unjoined` for each two uses that need an order and that no chain of events joins.
  /// Flagged buffers order their own uses.
  void FindUnjoined(NeedOrder need, const std::function<void(const Unjoined&)>& on_unjoined);
  /// Those of the events, tried one after the other, without which the rest of them joins all the
  /// uses of tensors that it joins with them.
  std::set<EventId> Redundant(const std::vector<EventId>& events);

  // Elements.

  /// Whether all that writes what the call is given for a parameter, a tensor or a slice, comes
  /// before what follows the first so many waits of the call, if the events count their notifies,
  /// and nothing writes it anew before the call's tasks end.
  bool IsComplete(const ProgramCall& call, size_t waits, size_t param);

 private:
  struct Exact;

  const WholeCalls& Whole();
  const UseChains& Chains();

  const Module& module_;
  const CallProgram& program_;
  std::unique_ptr<WholeCalls> whole_;
  std::unique_ptr<UseChains> chains_;
  std::unique_ptr<Exact> exact_;
};

}  // namespace etc
