// A box is found by its bounds: the constraints of the pairs' simple hull, which are affine in the
// reader's coordinates. So a stencil that treats its border in some other way needs a window that
// is clamped to the extents, where the exact bounds would be a case for each side of the border.
#include "analysis/derivation/boxes.h"

#include <algorithm>

namespace etc {
namespace {

/// The set as one over values of the parameter, for each value of the others; null without it.
Set Along(const std::string& name, const Set& set) {
  Set line(isl_set_from_params(set.copy()));
  int position = isl_set_find_dim_by_name(line.get(), isl_dim_param, name.c_str());
  return position < 0 ? Set()
                      : Set(isl_set_move_dims(line.copy(), isl_dim_set, 0, isl_dim_param,
                                              static_cast<unsigned>(position), 1));
}

Set HullOf(const Set& set) { return Set(isl_set_from_basic_set(isl_set_simple_hull(set.copy()))); }

/// Bounds of more cases than these are not told exactly.
constexpr isl_size kMostCases = 6;

/// What nobody would write down, and takes long to compare.
bool HasManyCases(const PwAff& value) { return isl_pw_aff_n_piece(value.get()) > kMostCases; }

}  // namespace

PwAff FloorBy(const PwAff& value, int64_t divisor) {
  isl_val* by = isl_val_int_from_si(isl_pw_aff_get_ctx(value.get()), divisor);
  return PwAff(isl_pw_aff_floor(isl_pw_aff_scale_down_val(value.copy(), by)));
}

BoxFinder::BoxFinder(const NeedsScope& scope)
    : scope_(scope), unknowns_(scope.unknowns), tasks_(TaskNames(scope.from, 1)) {
  for (const std::string& name : tasks_) {
    Set line = Along(name, ProjectOut(scope.producers, Others(name)));
    all_.push_back(line ? Extent{PwAff(isl_set_dim_min(line.copy(), 0)),
                                 PwAff(isl_set_dim_max(line.copy(), 0))}
                        : Extent{});
  }
}

std::vector<std::string> BoxFinder::Others(const std::string& name) const {
  std::vector<std::string> others;
  std::copy_if(tasks_.begin(), tasks_.end(), std::back_inserter(others),
               [&](const std::string& other) { return other != name; });
  return others;
}

NeedsBox BoxFinder::BoxOf(const Set& pairs) const {
  NeedsBox box{pairs, Coalesce(ProjectOut(pairs, tasks_)), {}};
  Set exact = box.consumers;
  box.guarded = !IsSubset(scope_.consumers, exact);
  if (box.guarded && isl_set_n_basic_set(exact.get()) > 1) {
    box.consumers = HullOf(exact) & scope_.consumers;
  } else if (!box.guarded) {
    box.consumers = scope_.consumers;
  }
  FindLines(box);
  if (box.guarded && isl_set_n_basic_set(exact.get()) > 1 && !IsThere(box)) {
    box.consumers = exact;
    FindLines(box);
  }
  box.guarded = box.guarded && !IsSubset(scope_.consumers, box.consumers);
  if (box.guarded && WaitsForAll(box) && DependsOnSizesOnly(box.consumers)) {
    box.guarded = false;  // where it needs nothing, all of that is little
  }
  for (size_t i = scope_.from.repeats.size(); i < tasks_.size(); ++i) {
    if (box.lines[i].IsFine()) {
      box.fine = true;
      box.volume *= *box.lines[i].length;
    }
  }
  return box;
}

/// Whether the wait is for all tasks: no event would tell apart those that are needed.
bool BoxFinder::WaitsForAll(const NeedsBox& box) const {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const NeedsLine& line = box.lines[i];
    bool iteration = i < scope_.from.repeats.size();
    if (iteration ? !line.whole : line.IsFine() || line.chunk.has_value()) {
      return false;
    }
  }
  return true;
}

/// Whether sizes alone decide which of the consumers these are.
bool BoxFinder::DependsOnSizesOnly(const Set& consumers) const {
  Set sizes = ProjectOut(consumers, TaskNames(scope_.to, 2));
  return IsSubset(scope_.consumers & sizes, consumers);
}

void BoxFinder::FindLines(NeedsBox& box) const {
  box.lines.clear();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    box.lines.push_back(LineOf(box, i));
    if (scope_.carried == i) {
      KeepBefore(box.consumers, box.lines.back());
    }
  }
}

/// A window that holds more than is needed still ends before the reader's own iteration: no task
/// waits for what comes behind it.
void BoxFinder::KeepBefore(const Set& consumers, NeedsLine& line) const {
  PwAff before = unknowns_.Param(IterationName(*scope_.carried, 2)) - unknowns_.Constant(1);
  if (!line.whole && !IsSubset(consumers, Le(line.Last(), before))) {
    line.last.push_back(before);
  }
}

/// Whether there is something to wait for even for tasks that need nothing, and less than all.
bool BoxFinder::IsThere(const NeedsBox& box) {
  return std::all_of(box.lines.begin(), box.lines.end(), [&](const NeedsLine& line) {
    return !line.whole && IsSubset(box.consumers, Le(line.Low(), line.Last()));
  });
}

NeedsLine BoxFinder::LineOf(const NeedsBox& box, size_t task) const {
  const Extent& all = all_[task];
  Set set = Along(tasks_[task], ProjectOut(box.pairs, Others(tasks_[task])));
  if (!set || !all.lo || !all.last) {
    return {};
  }
  set = Coalesce(set);
  NeedsLine line{AffineBounds{{all.lo}, {all.last}}};
  line.Add(set);
  Measure(box.consumers, all, line);
  if (line.IsFine() || line.chunk) {
    return line;
  }
  if (isl_set_n_basic_set(set.get()) > kMostCases) {
    return line;
  }
  NeedsLine exact{AffineBounds{{PwAff(isl_set_dim_min(set.copy(), 0))},
                               {PwAff(isl_set_dim_max(set.copy(), 0))}}};
  if (HasManyCases(exact.lo[0]) || HasManyCases(exact.last[0])) {
    return line;
  }
  Measure(box.consumers, all, exact);
  return exact.IsFine() || exact.chunk ? exact : line;
}

void BoxFinder::Measure(const Set& consumers, const Extent& all, NeedsLine& line) const {
  line.Thin(consumers);
  line.whole = line.lo.size() == 1 && line.last.size() == 1 &&
               AreEqualOn(consumers, line.lo[0], all.lo) &&
               AreEqualOn(consumers, line.last[0], all.last);
  if (!line.whole) {
    line.length = LengthOf(consumers, line);
    Simplify(consumers, line);
    FindChunk(consumers, all, line);
  }
}

std::optional<int64_t> BoxFinder::LengthOf(const Set& consumers, const NeedsLine& line) const {
  return LargestOn(consumers, line.Last() - line.Low() + unknowns_.Constant(1), unknowns_);
}

/// Takes out bounds that mix coordinates where those by one coordinate give as short a window:
/// then at most the tasks at the border wait for more than they need.
void BoxFinder::Simplify(const Set& consumers, NeedsLine& line) const {
  for (std::vector<PwAff> NeedsLine::*bounds : {&NeedsLine::lo, &NeedsLine::last}) {
    bool has_simple = std::any_of((line.*bounds).begin(), (line.*bounds).end(),
                                  [&](const PwAff& bound) { return Mixed(bound) == 1; });
    for (size_t i = (line.*bounds).size(); has_simple && line.length && i-- > 0;) {
      NeedsLine simpler = line;
      (simpler.*bounds).erase((simpler.*bounds).begin() + static_cast<std::ptrdiff_t>(i));
      if (Mixed((line.*bounds)[i]) > 1 && LengthOf(consumers, simpler) == line.length) {
        line = std::move(simpler);
      }
    }
  }
}

/// How many coordinates of the reader the bound depends on.
size_t BoxFinder::Mixed(const PwAff& bound) const {
  size_t mixed = 0;
  for (size_t i = 0; i < scope_.to.axes.size(); ++i) {
    int position =
        isl_pw_aff_find_dim_by_name(bound.get(), isl_dim_param, CoordinateName(i, 2).c_str());
    mixed += position >= 0 &&
             isl_pw_aff_involves_dims(bound.get(), isl_dim_param, static_cast<unsigned>(position),
                                      1) == isl_bool_true;
  }
  return mixed;
}

/// A chunk that is the same for all readers says nothing of how the tasks are read: its length is
/// then one of the tiling only if it divides the extent, and else an accident of the sizes.
void BoxFinder::FindChunk(const Set& consumers, const Extent& all, NeedsLine& line) const {
  if (!line.length || *line.length < 2) {
    return;
  }
  int64_t length = *line.length;
  PwAff chunk = FloorBy(line.Low() - all.lo, length);
  if (!AreEqualOn(consumers, chunk, FloorBy(line.Last() - all.lo, length))) {
    return;
  }
  auto last = LargestOn(consumers, chunk, unknowns_);
  bool one = last && IsSubset(consumers, Eq(chunk, unknowns_.Constant(*last)));
  PwAff extent = all.last - all.lo + unknowns_.Constant(1);
  PwAff whole = unknowns_.Constant(length) * FloorBy(extent, length);
  if (!one ||
      IsSubset(scope_.producers, Eq(extent, whole) & Lt(unknowns_.Constant(length), extent))) {
    line.chunk = chunk;
  }
}

}  // namespace etc
