// The order of whole calls, by the clauses of their events alone.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/program.h"

namespace etc {

/// Which calls have all of their tasks behind all of another's. Calls inside a repeat stand for any
/// one iteration and, as `next`, for the iteration after it. The answers cost next to nothing, and
/// `true` is certain.
class WholeCalls {
 public:
  /// Both must outlive it.
  WholeCalls(const Module& module, const CallProgram& program);

  /// Whether every task of `x` completes before any task of `y` starts, in one iteration.
  bool Before(size_t x, size_t y) const { return Get(x, y); }
  /// The same for `y` in the next iteration.
  bool BeforeNext(size_t x, size_t y) const { return Get(x, y + size_); }

 private:
  bool Get(size_t x, size_t y) const { return before_[x * 2 * size_ + y]; }
  void Set(size_t x, size_t y) { before_[x * 2 * size_ + y] = true; }
  void AddDirect(const ProgramCall& x, const ProgramCall& y);
  void Close();
  bool HasTasks(const ProgramCall& call) const;
  bool Joins(const ProgramCall& x, const ProgramCall& y, SymbolId next) const;
  bool Covers(const TaskEdge& notify, const EventRef& wait, SymbolId next) const;

  const Module& module_;
  const CallProgram& program_;
  bool in_order_;  // by the schedule
  size_t size_;
  std::vector<bool> before_;
};

}  // namespace etc
