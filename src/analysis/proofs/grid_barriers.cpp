#include "analysis/proofs/grid_barriers.h"

#include <algorithm>

namespace etc {
namespace {

constexpr unsigned long kSteps = 20'000'000;

}  // namespace

GridBarriers::GridBarriers(Unknowns& unknowns, const HappensBefore& order)
    : unknowns_(unknowns),
      calls_(unknowns.program().calls),
      order_(order),
      same_(calls_.size(), std::vector<bool>(calls_.size())),
      next_(same_),
      across_(same_) {
  Set sizes = unknowns.GlobalFacts();
  for (const ProgramCall& call : calls_) {
    unknowns.context().SetBudget(kSteps);
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
  AddDirect();
  Close();
  AddThroughOne();
  Close();
}

bool GridBarriers::Orders(const ProgramCall& x, const ProgramCall& y) const {
  if (InOneBlock(x.index, y.index)) {
    bool repeats = !x.repeats.empty();
    return same_[x.index][y.index] && (!repeats || OrdersIterations(x, y));
  }
  // From any iteration to the last one, on to the first of the other repeat, and to any there.
  for (const ProgramCall& k : calls_) {
    if (!(k.index == x.index || (same_[x.index][k.index] && links_[k.index])) || !Passes(k.index)) {
      continue;
    }
    for (const ProgramCall& m : calls_) {
      if (across_[k.index][m.index] &&
          (m.index == y.index || (same_[m.index][y.index] && links_[m.index])) && Passes(m.index)) {
        return true;
      }
    }
  }
  return false;
}

bool GridBarriers::OrdersIterations(const ProgramCall& x, const ProgramCall& y) const {
  for (size_t k = 0; k < calls_.size(); ++k) {
    if (IsSpine(k) && ((IsOrSame(x.index, k) && (k == y.index || next_[k][y.index])) ||
                       (next_[x.index][k] && IsOrSame(k, y.index)))) {
      return true;
    }
  }
  return false;
}

/// Whether both stand in the same repeat, or both in none.
bool GridBarriers::InOneBlock(size_t x, size_t y) const {
  return calls_[x].repeats.size() == calls_[y].repeats.size() &&
         CommonRepeats(calls_[x], calls_[y]) == calls_[x].repeats.size();
}

/// All pairs of a task of `x` and one of `y`, in iterations that are as far apart.
Map GridBarriers::Pairs(size_t x, size_t y, Step step) const {
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

/// Pairs that single events order.
void GridBarriers::AddDirect() {
  for (size_t x = 0; x < calls_.size(); ++x) {
    for (size_t y = 0; y < calls_.size(); ++y) {
      const Map& direct = order_.Directly(x, y);
      if (!direct || calls_[x].repeats.size() > 1 || calls_[y].repeats.size() > 1) {
        continue;
      }
      unknowns_.context().SetBudget(kSteps);
      bool one_block = InOneBlock(x, y);
      if (x < y && one_block) {
        same_[x][y] = IsSubset(Pairs(x, y, Step::Same), direct);
      }
      if (one_block && !calls_[x].repeats.empty()) {
        next_[x][y] = IsSubset(Pairs(x, y, Step::Next), direct);
      }
      if (x < y && !one_block) {
        across_[x][y] = IsSubset(Pairs(x, y, Step::Across), direct);
      }
    }
  }
}

/// Tasks that wait for some of the tasks of a call, which together wait for all of another.
void GridBarriers::AddThroughOne() {
  for (size_t x = 0; x < calls_.size(); ++x) {
    for (size_t y = x + 1; y < calls_.size(); ++y) {
      for (size_t k = x + 1; k < y && !same_[x][y]; ++k) {
        const Map& before = order_.Directly(x, k);
        const Map& behind = order_.Directly(k, y);
        size_t repeats = calls_[k].repeats.size();
        if (before && behind && links_[k] && repeats <= 1 && InOneBlock(x, k) && InOneBlock(k, y)) {
          unknowns_.context().SetBudget(kSteps);
          Map through = After(InOneIteration(before, repeats), InOneIteration(behind, repeats));
          same_[x][y] = IsSubset(Pairs(x, y, Step::Same), through);
        }
      }
    }
  }
}

/// Chains of barriers through calls that have tasks.
void GridBarriers::Close() {
  bool grown = true;
  auto add = [&](Table& table, size_t x, size_t y, bool holds) {
    grown = grown || (holds && !table[x][y]);
    table[x][y] = table[x][y] || holds;
  };
  while (std::exchange(grown, false)) {
    for (size_t k = 0; k < calls_.size(); ++k) {
      for (size_t x = 0; links_[k] && x < calls_.size(); ++x) {
        for (size_t y = 0; y < calls_.size(); ++y) {
          add(same_, x, y, same_[x][k] && same_[k][y]);
          add(next_, x, y, (same_[x][k] && next_[k][y]) || (next_[x][k] && same_[k][y]));
          bool outside = Passes(k) && runs_[k] && across_[x][k] && across_[k][y];
          add(across_, x, y,
              (same_[x][k] && across_[k][y]) || (across_[x][k] && same_[k][y]) ||
                  (outside && !InOneBlock(x, y)));
          add(same_, x, y, outside && InOneBlock(x, y));
        }
      }
    }
  }
}

}  // namespace etc
