#include "analysis/order.h"

#include <algorithm>
#include <tuple>

#include "analysis/control_reads.h"
#include "analysis/shapes.h"
#include "ir/rewrite.h"

namespace etc {

bool FollowsProgramOrder(const CallProgram& program) { return program.launches; }

/// Calls inside a repeat stand for any one iteration and, as `next`, for the iteration after it.
class Order::WholeCalls {
 public:
  WholeCalls(const Module& module, const CallProgram& program)
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

  bool Get(size_t x, size_t y) const { return before_[x * 2 * size_ + y]; }
  bool Next(size_t x, size_t y) const { return Get(x, y + size_); }

 private:
  void Set(size_t x, size_t y) { before_[x * 2 * size_ + y] = true; }

  void AddDirect(const ProgramCall& x, const ProgramCall& y) {
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

  void Close() {
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
  bool HasTasks(const ProgramCall& call) const {
    return std::all_of(call.axes.begin(), call.axes.end(), [&](const Axis& axis) {
      auto lo = axis.lo ? Bounds(module_, axis.lo, {}) : Interval{0, 0};
      auto hi = Bounds(module_, axis.hi, {});
      return lo && hi && lo->hi < hi->lo;
    });
  }

  /// Whether every task of `y`, in the next iteration of the repeat `next` if it is given, waits
  /// for what every task of `x` notifies.
  bool Joins(const ProgramCall& x, const ProgramCall& y, SymbolId next) const {
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

  bool Covers(const TaskEdge& notify, const EventRef& wait, SymbolId next) const {
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

  const Module& module_;
  const CallProgram& program_;
  bool in_order_;
  size_t size_;
  std::vector<bool> before_;
};

struct Order::Elements {
  Elements(const Module& module, const CallProgram& program)
      : unknowns(module, program, context),
        relations(MakeEventRelations(unknowns)),
        events(program.events.begin(), program.events.end()),
        writers(WritersOf(unknowns)) {}

  IslContext context;
  Unknowns unknowns;
  EventRelations relations;
  std::set<EventId> events;
  std::map<TensorId, std::set<size_t>> writers;
};

Order::Order(const Module& module, const CallProgram& program)
    : module_(module), program_(program) {}

Order::~Order() = default;

const Order::WholeCalls& Order::Whole() {
  if (whole_ == nullptr) {
    whole_ = std::make_unique<WholeCalls>(module_, program_);
  }
  return *whole_;
}

bool Order::Before(size_t x, size_t y) { return Whole().Get(x, y); }
bool Order::BeforeNext(size_t x, size_t y) { return Whole().Next(x, y); }

std::set<EventId> Order::Redundant(const std::vector<EventId>& events) {
  UseChains chains(module_, program_);
  // The two calls, the tensor, whether the one and the other are tasks, and the repeat of which the
  // second is in a later iteration.
  using Pair = std::tuple<size_t, size_t, TensorId, bool, bool, SymbolId>;
  auto unjoined_without = [&](const std::set<EventId>& without) {
    std::set<Pair> pairs;
    chains.FindUnjoined(NeedOrder::Conflicts, without, [&](const Unjoined& unjoined) {
      const CallUse& first = unjoined.earlier;
      const CallUse& second = unjoined.later;
      pairs.emplace(first.call, second.call, first.arg.tensor, first.reader == Conflicts::Use::Body,
                    second.reader == Conflicts::Use::Body,
                    unjoined.carrier ? unjoined.carrier->repeat : SymbolId());
    });
    return pairs;
  };
  std::set<EventId> redundant;
  // What no event joins now need not be joined: the uses are of other elements.
  std::set<Pair> unjoined = unjoined_without({});
  for (EventId event : events) {
    std::set<EventId> without = redundant;
    without.insert(event);
    if (unjoined_without(without) == unjoined) {
      redundant = std::move(without);
    }
  }
  return redundant;
}

bool Order::IsComplete(const ProgramCall& call, size_t waits, TensorId tensor) {
  if (elements_ == nullptr) {
    elements_ = std::make_unique<Elements>(module_, program_);
  }
  Elements& elements = *elements_;
  auto writers = elements.writers.find(tensor);
  if (writers == elements.writers.end()) {
    return true;
  }
  return elements.unknowns.IsStable(tensor) &&
         std::all_of(writers->second.begin(), writers->second.end(), [&](size_t writer) {
           return writer < call.index &&
                  (FollowsProgramOrder(program_) ||
                   FollowsWrites(elements.unknowns, elements.relations, elements.events,
                                 program_.calls[writer], call, {tensor, {{}}},
                                 [&](size_t wait) { return wait < waits; }));
         });
}

}  // namespace etc
