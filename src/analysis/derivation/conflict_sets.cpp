#include "analysis/derivation/conflict_sets.h"

#include <algorithm>

#include "analysis/control_reads.h"
#include "analysis/sets/task_pairs.h"

namespace etc {
ConflictSets::ConflictSets(Unknowns& unknowns, ProgramAccesses accesses)
    : unknowns_(unknowns),
      program_(unknowns.program()),
      accesses_(std::move(accesses)),
      between_(unknowns, accesses_) {
  unknowns_.context().SetBudget();
  for (const ProgramCall& call : program_.calls) {
    first_domains_.push_back(DomainOf(call, 1));
    second_domains_.push_back(DomainOf(call, 2));
  }
  AddControlReads();
  // Where isl gave up, conflicts are taken for larger than they may be.
  sizes_ = unknowns_.GlobalFacts();
  sizes_ = sizes_ ? sizes_ : unknowns_.SizeFacts();
  for (size_t i = 0; i < program_.calls.size(); ++i) {
    for (auto [domains, regions] : {std::pair{&first_domains_, &accesses_.first[i]},
                                    std::pair{&second_domains_, &accesses_.second[i]}}) {
      Set& domain = (*domains)[i];
      domain = OneOfEqual(domain ? domain & sizes_ : sizes_);
      for (AccessRegion& region : *regions) {
        region.exact = region.exact && region.set;
        region.set = region.set ? OneOfEqual(region.set) : domain;
      }
    }
  }
}

/// The tasks, as far as data do not decide. Ranges that are empty whatever the data are, are
/// read all the same, so a task stands for whoever reads them.
Set ConflictSets::DomainOf(const ProgramCall& call, int instance) const {
  const TaskScope scope(unknowns_, call, instance);
  Set domain = Known(scope.domain);
  const Module& module = unknowns_.module();
  for (size_t i = 0; i < call.axes.size() && IsEmpty(domain); ++i) {
    if (ReadsTensor(module, call.axes[i].lo) || ReadsTensor(module, call.axes[i].hi)) {
      domain = Known(scope.outer[i]);
      for (size_t later = i; later < call.axes.size(); ++later) {
        domain =
            domain & Eq(unknowns_.Param(CoordinateName(later, instance)), unknowns_.Constant(0));
      }
    }
  }
  return domain;
}

/// What says which tasks run and what they wait for or notify counts as read by each of them:
/// their range, counts and elements of events, and the range of tasks that they have to wait for.
void ConflictSets::AddControlReads() {
  for (const ProgramCall& call : program_.calls) {
    ControlReads reads = RangeReads(unknowns_, call);
    reads.merge(EdgeReads(unknowns_, call));
    for (const ProgramCall& other : program_.calls) {
      if (other.index < call.index && Meet(other.index, call.index)) {
        reads.merge(RangeReads(unknowns_, other));
      }
    }
    for (const auto& [tensor, elements] : reads) {
      for (auto [regions, domains] : {std::pair{&accesses_.first, &first_domains_},
                                      std::pair{&accesses_.second, &second_domains_}}) {
        AccessRegion whole;
        whole.tensor = tensor;
        whole.exact = false;
        whole.set = (*domains)[call.index];
        (*regions)[call.index].push_back(std::move(whole));
      }
    }
  }
}

/// Whether one call writes a tensor that the other touches.
bool ConflictSets::Meet(size_t x, size_t y) const {
  return std::any_of(
      accesses_.first[x].begin(), accesses_.first[x].end(), [&](const AccessRegion& a) {
        return std::any_of(
            accesses_.second[y].begin(), accesses_.second[y].end(),
            [&](const AccessRegion& b) { return a.tensor == b.tensor && (a.write || b.write); });
      });
}

/// Without what depends on data.
Set ConflictSets::Known(const Set& set) const {
  std::vector<std::string> others;
  for (const Term* term : unknowns_.TermsIn(set)) {
    if (!term->global) {
      others.push_back(term->name);
    }
  }
  return ProjectOut(set, others);
}

Set ConflictSets::OneOfEqual(const Set& set) {
  uint32_t hash = isl_set_get_hash(set.get());
  auto [known, end] = objects_.equal_range(hash);
  for (; known != end; ++known) {
    if (IsPlainlyEqual(known->second, set)) {
      return known->second;
    }
  }
  return objects_.emplace(hash, set)->second;
}

/// The iterations that the dependence may connect.
Set ConflictSets::InOrder(const Dependence& d) const {
  return sizes_ & (d.carried ? InLaterIteration(unknowns_, d.repeats)
                             : InOneIteration(unknowns_, d.repeats));
}

/// Whether `visit` holds of a pair of accesses of which one is a write.
template <class Visit>
bool ConflictSets::AnyConflict(const Dependence& d, const Visit& visit) {
  for (const AccessRegion& a : accesses_.first[d.from]) {
    for (const AccessRegion& b : accesses_.second[d.to]) {
      bool conflict = a.tensor == b.tensor && (a.write || b.write) && !a.ahead && !b.ahead;
      if (conflict && visit(a, b)) {
        return true;
      }
    }
  }
  return false;
}

bool ConflictSets::Exists(const Dependence& d) {
  auto [found, fresh] = exists_.try_emplace(d, false);
  if (fresh) {
    unknowns_.context().SetBudget();
    Set base;
    found->second = AnyConflict(d, [&](const AccessRegion& a, const AccessRegion& b) {
      base = base ? base : InOrder(d);
      return between_.AllFollow(d, a, b) || !IsEmpty(Touched(d, a, b, base));
    });
  }
  return found->second;
}

const Conflict& ConflictSets::Of(const Dependence& d) {
  auto [found, fresh] = conflicts_.try_emplace(d);
  Conflict& conflict = found->second;
  if (!fresh) {
    return conflict;
  }
  unknowns_.context().SetBudget();
  Set base = InOrder(d);
  Set none = unknowns_.All() - unknowns_.All();
  conflict.pairs = none;
  conflict.fixed = none;
  (void)AnyConflict(d, [&](const AccessRegion& a, const AccessRegion& b) {
    if (between_.AllFollow(d, a, b)) {
      return false;
    }
    Set touched = Touched(d, a, b, base);
    if (IsEmpty(touched)) {
      return false;
    }
    touched = between_.WithoutOthers(d, a, b, touched);
    if (IsEmpty(touched)) {
      return false;
    }
    // A value that is read is the better reason than memory that is used again.
    bool value = a.write && !b.write;
    if (!conflict.cause.tensor || (value && conflict.cause.to_writes)) {
      conflict.cause = {a.tensor, a.write, b.write};
    }
    Set tasks = TasksOf(d, touched);
    if (!tasks) {
      tasks = OneOfEqual(AllPairs(d));
    }
    auto add = [&](Set& pairs) {
      pairs = pairs.get() == none.get() ? tasks : Joined(pairs, tasks);
    };
    add(conflict.pairs);
    if (touched && OnData(unknowns_, touched)) {
      conflict.data.push_back(touched);
    } else {
      add(conflict.fixed);
    }
    return false;
  });
  return conflict;
}

Set ConflictSets::AllPairs(const Dependence& d) const {
  return first_domains_[d.from] & second_domains_[d.to] & InOrder(d);
}

/// The tasks that both touch an element, and the element.
const Set& ConflictSets::Touched(const Dependence& d, const AccessRegion& a, const AccessRegion& b,
                                 const Set& base) {
  Set& touched = touched_[{a.set.get(), b.set.get(), d.repeats, d.carried}];
  if (!touched) {
    touched = CoalesceQuickly(Join({a.set, b.set, base}));
  }
  return touched;
}

const Set& ConflictSets::TasksOf(const Dependence& d, const Set& touched) {
  std::vector<std::string> kept = TaskNames(program_.calls[d.from], 1);
  std::vector<std::string> more = TaskNames(program_.calls[d.to], 2);
  kept.insert(kept.end(), more.begin(), more.end());
  auto& [object, tasks] = tasks_[{touched.get(), kept}];
  if (!tasks) {
    object = touched;
    tasks = OverSizes(unknowns_, touched, kept);
  }
  return tasks;
}

/// Of sets that are kept.
const Set& ConflictSets::Joined(const Set& a, const Set& b) {
  Set& joined = joined_[{a.get(), b.get()}];
  if (!joined) {
    joined = Coalesce(a | b);
  }
  return joined;
}

const Map& ConflictSets::MapOf(const Dependence& d, const Set& pairs) {
  std::vector<std::string> from = TaskNames(program_.calls[d.from], 1);
  std::vector<std::string> to = TaskNames(program_.calls[d.to], 2);
  Map& map = maps_[{pairs.get(), from, to}];
  if (!map) {
    map = ToMap(unknowns_, pairs, from, to);
  }
  return map;
}

}  // namespace etc
