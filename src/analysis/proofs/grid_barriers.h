// Calls of which all tasks come after all tasks of another call.
#pragma once

#include <vector>

#include "analysis/events.h"

namespace etc {

/// Most events let every task of a call wait for every task of another. Where such events lead from
/// call to call, so do the calls: that needs no relations between tasks, which cost much to
/// compose. Only repeats that stand in no other are looked at.
class GridBarriers {
 public:
  /// `order` must outlive it.
  GridBarriers(Unknowns& unknowns, const HappensBefore& order);

  /// Whether each task of `y` comes after each of `x` that stands before it in program order: in
  /// the same iteration of a repeat around both, where the call does, and in an earlier one.
  bool Orders(const ProgramCall& x, const ProgramCall& y) const;
  /// Whether that holds of tasks in different iterations.
  bool OrdersIterations(const ProgramCall& x, const ProgramCall& y) const;

 private:
  using Table = std::vector<std::vector<bool>>;
  enum class Step { Same, Next, Across };

  bool InOneBlock(size_t x, size_t y) const;
  Map Pairs(size_t x, size_t y, Step step) const;
  void AddDirect();
  void AddThroughOne();
  void Close();
  /// Whether the tasks of the call in an iteration come after those in each earlier one.
  bool IsSpine(size_t call) const { return links_[call] && next_[call][call]; }
  /// Whether order goes through it, from the first iteration to the last where it is in a repeat.
  bool Passes(size_t call) const { return calls_[call].repeats.empty() || IsSpine(call); }
  bool IsOrSame(size_t x, size_t y) const { return x == y || same_[x][y]; }

  const Unknowns& unknowns_;
  const std::vector<ProgramCall>& calls_;
  const HappensBefore& order_;
  std::vector<Map> tasks_;   // of each call, as a range
  std::vector<bool> links_;  // it has tasks at all sizes, in each iteration and whatever the data
  std::vector<bool> runs_;   // each repeat around it has an iteration at all sizes
  Table same_;               // in one iteration of the repeat around both, or outside of repeats
  Table next_;               // in the next iteration of it
  Table across_;             // from the last iteration of one to the first of the other
};

}  // namespace etc
