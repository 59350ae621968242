#include "analysis/order/grid_barriers.h"

#include <algorithm>
#include <set>

#include "analysis/sets/task_pairs.h"
#include "analysis/sets/task_scope.h"

namespace etc {
GridCalls::GridCalls(Unknowns& unknowns) : unknowns_(unknowns), calls_(unknowns.program().calls) {
  Set sizes = unknowns.GlobalFacts();
  for (const ProgramCall& call : calls_) {
    unknowns.context().SetBudget();
    TaskScope task(unknowns, call, 1);
    Set domain = task.domain & sizes;
    tasks_.push_back(ToMap(unknowns, domain, {}, TaskNames(call, 1)));
    std::vector<std::string> coordinates;
    for (size_t i = 0; i < call.axes.size(); ++i) {
      coordinates.push_back(CoordinateName(i, 1));
    }
    const Set& iterations = task.outer.empty() ? task.domain : task.outer[0];
    runs_.push_back(std::all_of(call.repeats.begin(), call.repeats.end(), [&](const auto& repeat) {
      return IsEmpty(sizes & Lt(LastIteration(unknowns, repeat), FirstIteration(unknowns, repeat)));
    }));
    links_.push_back(task.exact && IsSubset(iterations & sizes, ProjectOut(domain, coordinates)));
  }
}

bool GridCalls::InOneBlock(size_t x, size_t y) const {
  return calls_[x].repeats.size() == calls_[y].repeats.size() &&
         CommonRepeats(calls_[x], calls_[y]) == calls_[x].repeats.size();
}

/// All pairs of a task of `x` and one of `y`, in iterations that are as far apart.
Map GridCalls::Pairs(size_t x, size_t y, Step step) const {
  Map pairs = After(Map(isl_map_reverse(tasks_[x].copy())), tasks_[y]);
  const auto& from = calls_[x].repeats;
  const auto& to = calls_[y].repeats;
  if (step == Step::Same) {
    return InOneIteration(pairs, from.size());
  }
  if (step == Step::Next) {
    return InNextIteration(pairs, 0);
  }
  // Where the sizes say which iteration is the last, all of them are to be ordered.
  if (!from.empty() && from[0].fixed) {
    auto last = static_cast<int>(from[0].iterations.hi);
    pairs = Map(isl_map_fix_si(pairs.copy(), isl_dim_in, 0, last));
  }
  if (!to.empty() && to[0].fixed) {
    auto first = static_cast<int>(to[0].iterations.lo);
    pairs = Map(isl_map_fix_si(pairs.copy(), isl_dim_out, 0, first));
  }
  return pairs;
}

bool GridCalls::HasAll(size_t x, size_t y, Step step, const Map& pairs) {
  Question question{x, y, step, pairs.get(), Step::Same, nullptr};
  auto [known, fresh] = known_.try_emplace(question, Known{pairs, {}, false});
  if (fresh) {
    unknowns_.context().SetBudget();
    known->second.holds = IsSubset(Pairs(x, y, step), pairs);
  }
  return known->second.holds;
}

bool GridCalls::HasAllThrough(size_t x, size_t y, Leg before, Leg behind) {
  Question question{x, y, before.step, before.pairs.get(), behind.step, behind.pairs.get()};
  auto [known, fresh] = known_.try_emplace(question, Known{before.pairs, behind.pairs, false});
  if (fresh) {
    unknowns_.context().SetBudget();
    size_t repeats = calls_[x].repeats.size();
    auto part = [&](const Leg& leg) {
      return leg.step == Step::Same ? InOneIteration(leg.pairs, repeats)
                                    : InNextIteration(leg.pairs, 0);
    };
    Step step = before.step == Step::Same ? behind.step : before.step;
    known->second.holds = IsSubset(Pairs(x, y, step), After(part(before), part(behind)));
  }
  return known->second.holds;
}

bool GridBarriers::Table::AddAll(size_t x, const Table& other, size_t k) {
  bool grown = false;
  for (size_t i = 0; i < words_; ++i) {
    uint64_t& mine = bits_[x * words_ + i];
    uint64_t joined = mine | other.bits_[k * words_ + i];
    grown = grown || joined != mine;
    mine = joined;
  }
  return grown;
}

GridBarriers::GridBarriers(GridCalls& grids, const HappensBefore& order)
    : grids_(grids),
      calls_(grids.calls()),
      order_(order),
      after_(calls_.size()),
      same_(calls_.size()),
      next_(calls_.size()),
      across_(calls_.size()) {
  for (size_t x = 0; x < calls_.size(); ++x) {
    std::vector<Successor>& behind = behind_.emplace_back();
    for (const CallSteps::Step& step : order_.DirectlyFrom(x)) {
      if (step.pairs) {
        behind.push_back({step.to, &step.pairs});
      }
    }
  }
  AddDirect();
  Close();
  AddThroughOne();
  Close();
}

bool GridBarriers::Orders(const ProgramCall& x, const ProgramCall& y) const {
  return OrdersInIteration(x, y) &&
         (!grids_.InOneBlock(x.index, y.index) || x.repeats.empty() || OrdersIterations(x, y));
}

bool GridBarriers::OrdersInIteration(const ProgramCall& x, const ProgramCall& y) const {
  return grids_.InOneBlock(x.index, y.index) ? same_.Has(x.index, y.index) : OrdersBlocks(x, y);
}

/// From any iteration to the last one, on to the first of the other repeat, and to any there.
bool GridBarriers::OrdersBlocks(const ProgramCall& x, const ProgramCall& y) const {
  for (const ProgramCall& k : calls_) {
    if (!(k.index == x.index || (same_.Has(x.index, k.index) && grids_.Links(k.index))) ||
        !Passes(k.index)) {
      continue;
    }
    for (const ProgramCall& m : calls_) {
      if (across_.Has(k.index, m.index) &&
          (m.index == y.index || (same_.Has(m.index, y.index) && grids_.Links(m.index))) &&
          Passes(m.index)) {
        return true;
      }
    }
  }
  return false;
}

bool GridBarriers::OrdersIterations(const ProgramCall& x, const ProgramCall& y) const {
  for (size_t k = 0; k < calls_.size(); ++k) {
    if (IsSpine(k) && ((IsOrSame(x.index, k) && (k == y.index || next_.Has(k, y.index))) ||
                       (next_.Has(x.index, k) && IsOrSame(k, y.index)))) {
      return true;
    }
  }
  return false;
}

/// Pairs that single events order.
void GridBarriers::AddDirect() {
  for (size_t x = 0; x < calls_.size(); ++x) {
    for (const auto& [y, direct] : behind_[x]) {
      if (calls_[x].repeats.size() > 1 || calls_[y].repeats.size() > 1) {
        continue;
      }
      bool one_block = grids_.InOneBlock(x, y);
      if (x < y && one_block && grids_.HasAll(x, y, Step::Same, *direct)) {
        same_.Add(x, y);
        after_[x].push_back(y);
      }
      if (one_block && !calls_[x].repeats.empty() && grids_.HasAll(x, y, Step::Next, *direct)) {
        next_.Add(x, y);
      }
      if (x < y && !one_block && grids_.HasAll(x, y, Step::Across, *direct)) {
        across_.Add(x, y);
      }
    }
  }
}

/// Tasks that wait for some of the tasks of a call, which together wait for all of another.
void GridBarriers::AddThroughOne() {
  for (size_t x = 0; x < calls_.size(); ++x) {
    if (calls_[x].repeats.size() > 1) {
      continue;
    }
    std::set<size_t> two_steps_behind;
    for (const Successor& one : behind_[x]) {
      for (const Successor& two : behind_[one.call]) {
        two_steps_behind.insert(two.call);
      }
    }
    for (size_t y : two_steps_behind) {
      if (!grids_.InOneBlock(x, y)) {
        continue;
      }
      if (x < y && !same_.Has(x, y) && AreAllThroughOne(x, y, Step::Same, Step::Same)) {
        same_.Add(x, y);
        after_[x].push_back(y);
      }
      if (!calls_[x].repeats.empty() && !next_.Has(x, y) &&
          (AreAllThroughOne(x, y, Step::Same, Step::Next) ||
           AreAllThroughOne(x, y, Step::Next, Step::Same))) {
        next_.Add(x, y);
      }
    }
  }
}

/// Whether some call stands so between all tasks of `x` and `y`.
bool GridBarriers::AreAllThroughOne(size_t x, size_t y, Step first, Step second) {
  for (const auto& [k, before] : behind_[x]) {
    bool stands = (first == Step::Next || x < k) && (second == Step::Next || k < y);
    if (!stands || !grids_.Links(k) || !grids_.InOneBlock(x, k)) {
      continue;
    }
    const Map& behind = order_.Directly(k, y);
    if (behind && grids_.HasAllThrough(x, y, {*before, first}, {behind, second})) {
      return true;
    }
  }
  return false;
}

/// Without repeats, from the last call to the first: what is behind those that are next is known.
void GridBarriers::CloseStraight() {
  for (size_t x = calls_.size(); x-- > 0;) {
    for (size_t k : after_[x]) {
      if (grids_.Links(k)) {
        (void)same_.AddAll(x, same_, k);
      }
    }
  }
}

/// Chains of barriers through calls that have tasks.
void GridBarriers::Close() {
  if (std::ranges::all_of(calls_, [](const ProgramCall& call) { return call.repeats.empty(); })) {
    CloseStraight();
    return;
  }
  for (bool grown = true; std::exchange(grown, false);) {
    for (size_t k = 0; k < calls_.size(); ++k) {
      for (size_t x = 0; grids_.Links(k) && x < calls_.size(); ++x) {
        if (same_.Has(x, k)) {
          grown |= same_.AddAll(x, same_, k);
          grown |= next_.AddAll(x, next_, k);
          grown |= across_.AddAll(x, across_, k);
        }
        if (next_.Has(x, k)) {
          grown |= next_.AddAll(x, same_, k);
        }
        if (!across_.Has(x, k)) {
          continue;
        }
        grown |= across_.AddAll(x, same_, k);
        for (size_t y = 0; Passes(k) && grids_.Runs(k) && y < calls_.size(); ++y) {
          Table& table = grids_.InOneBlock(x, y) ? same_ : across_;
          if (across_.Has(k, y) && !table.Has(x, y)) {
            table.Add(x, y);
            grown = true;
          }
        }
      }
    }
  }
}

}  // namespace etc
