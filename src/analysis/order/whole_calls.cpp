#include "analysis/order/whole_calls.h"

#include <algorithm>

#include "analysis/order/schedule_order.h"
#include "analysis/shapes.h"
#include "ir/rewrite.h"

namespace etc {

WholeCalls::WholeCalls(const Module& module, const CallProgram& program)
    : module_(module),
      program_(program),
      in_order_(FollowsProgramOrder(program)),
      size_(program.calls.size()),
      before_(2 * size_ * 2 * size_) {
  for (const ProgramCall& x : program.calls) {
    for (const ProgramCall& y : program.calls) {
      AddDirect(x, y);
    }
  }
  Close();
}

void WholeCalls::AddDirect(const ProgramCall& x, const ProgramCall& y) {
  if (x.Innermost() != y.Innermost() || (x.repeats.size() > 1 && !in_order_)) {
    return;
  }
  if (x.index < y.index && (in_order_ || Joins(x, y, SymbolId()))) {
    Set(x.index, y.index);
    Set(x.index + size_, y.index + size_);
  }
  if (!x.repeats.empty() && (in_order_ || Joins(x, y, x.repeats.back().var))) {
    Set(x.index, y.index + size_);
  }
}

void WholeCalls::Close() {
  for (size_t k = 0; k < 2 * size_; ++k) {
    // Without a task in between, what waits for it waits for nothing.
    if (!in_order_ && !HasTasks(program_.calls[k % size_])) {
      continue;
    }
    for (size_t x = 0; x < 2 * size_; ++x) {
      for (size_t y = 0; Get(x, k) && y < 2 * size_; ++y) {
        if (Get(k, y)) {
          Set(x, y);
        }
      }
    }
  }
}

/// Whether there is a task whatever the sizes and the data.
bool WholeCalls::HasTasks(const ProgramCall& call) const {
  return std::all_of(call.axes.begin(), call.axes.end(), [&](const Axis& axis) {
    auto lo = axis.lo ? Bounds(module_, axis.lo, {}) : Interval{0, 0};
    auto hi = Bounds(module_, axis.hi, {});
    return lo && hi && lo->hi < hi->lo;
  });
}

/// Whether every task of `y`, in the next iteration of the repeat `next` if it is given, waits
/// for what every task of `x` notifies.
bool WholeCalls::Joins(const ProgramCall& x, const ProgramCall& y, SymbolId next) const {
  for (const TaskEdge& notify : x.notifies) {
    for (const TaskEdge& wait : y.waits) {
      if (wait.entering && notify.ref->event == wait.ref->event && !notify.ref->guard &&
          !wait.ref->guard && notify.ref->axes.empty() && wait.ref->axes.empty() &&
          Covers(notify, *wait.ref, next)) {
        return true;
      }
    }
  }
  return false;
}

bool WholeCalls::Covers(const TaskEdge& notify, const EventRef& wait, SymbolId next) const {
  for (size_t i = 0; i < wait.indices.size(); ++i) {
    const EventIndex& w = wait.indices[i];
    const EventIndex& n = notify.ref->indices[i];
    if (w.all) {
      continue;
    }
    bool element = !w.hi && !n.all && !n.hi && !Mentions(module_, n.lo, notify.coords);
    if (!element || !SameSize(module_, n.lo, w.lo, {}, next)) {
      return false;
    }
  }
  return true;
}

}  // namespace etc
