// A box is found by its bounds: the constraints of the pairs' simple hull, which are affine in the
// reader's coordinates. So a stencil that treats its border in some other way needs a window that
// is clamped to the extents, where the exact bounds would be a case for each side of the border.
#include "analysis/derivation/needs.h"

#include <algorithm>

#include "analysis/derivation/bounds.h"
#include "analysis/derivation/closed_form.h"

namespace etc {
namespace {

/// More pieces than these are not told apart.
constexpr isl_size kMostPieces = 12;
/// Bounds of more cases than these are not told exactly.
constexpr isl_size kMostCases = 6;
/// The most boxes that one dependence is split into.
constexpr size_t kMostBoxes = 4;

/// The set as one over values of the parameter, for each value of the others; null without it.
Set Along(const std::string& name, const Set& set) {
  Set line(isl_set_from_params(set.copy()));
  int position = isl_set_find_dim_by_name(line.get(), isl_dim_param, name.c_str());
  return position < 0 ? Set()
                      : Set(isl_set_move_dims(line.copy(), isl_dim_set, 0, isl_dim_param,
                                              static_cast<unsigned>(position), 1));
}

PwAff Floor(const PwAff& value, int64_t divisor) {
  isl_val* by = isl_val_int_from_si(isl_pw_aff_get_ctx(value.get()), divisor);
  return PwAff(isl_pw_aff_floor(isl_pw_aff_scale_down_val(value.copy(), by)));
}

/// The pieces of a set, each of one basic set.
std::vector<Set> PiecesOf(const Set& set) {
  std::vector<Set> pieces;
  isl_basic_set_list* list = isl_set_get_basic_set_list(set.get());
  for (isl_size i = 0; i < isl_basic_set_list_size(list); ++i) {
    pieces.emplace_back(isl_set_from_basic_set(isl_basic_set_list_get_at(list, i)));
  }
  isl_basic_set_list_free(list);
  return pieces;
}

Set HullOf(const Set& set) { return Set(isl_set_from_basic_set(isl_set_simple_hull(set.copy()))); }

class Finder {
 public:
  explicit Finder(const NeedsScope& scope)
      : scope_(scope), unknowns_(scope.unknowns), tasks_(TaskNames(scope.from, 1)) {
    for (const std::string& name : tasks_) {
      Set line = Along(name, ProjectOut(scope.producers, Others(name)));
      all_.push_back(line ? Extent{PwAff(isl_set_dim_min(line.copy(), 0)),
                                   PwAff(isl_set_dim_max(line.copy(), 0))}
                          : Extent{});
    }
  }

  Needs InOne(const Set& pairs) const { return TextOf(BoxOf(pairs)); }

  std::vector<Needs> InParts(const Set& pairs) const {
    Box whole = BoxOf(pairs);
    if (IsSmallest(whole)) {
      return {TextOf(whole)};
    }
    std::vector<Box> boxes;
    if (Set joined = Coalesce(pairs); isl_set_n_basic_set(joined.get()) <= kMostPieces) {
      for (const Set& piece : PiecesOf(joined)) {
        boxes.push_back(BoxOf(piece));
      }
    }
    if (boxes.size() < 2 || IsTight(whole, boxes)) {
      return {TextOf(whole)};
    }
    Merge(boxes);
    bool useful = boxes.size() <= kMostBoxes &&
                  std::all_of(boxes.begin(), boxes.end(), [](const Box& box) { return box.fine; });
    std::vector<Needs> parts;
    for (size_t i = 0; useful && i < boxes.size(); ++i) {
      parts.push_back(TextOf(boxes[i]));
      const Needs& last = parts.back();
      useful = std::any_of(last.coordinates.begin(), last.coordinates.end(),
                           [](const Need& need) { return !need.whole; });
    }
    return useful && parts.size() > 1 ? parts : std::vector{TextOf(whole)};
  }

 private:
  struct Extent {
    PwAff lo;
    PwAff last;
  };
  struct Line : AffineBounds {
    bool whole = true;
    std::optional<int64_t> length = std::nullopt;
    std::optional<PwAff> chunk = std::nullopt;

    bool IsFine() const { return !whole && length && *length <= kMostWaits; }
  };
  struct Box {
    Set pairs;
    Set consumers;            // the tasks that wait
    std::vector<Line> lines;  // as the names of tasks
    bool guarded = false;     // not all tasks do
    bool fine = false;        // some coordinate is
    int64_t volume = 1;       // of the fine ones
  };

  std::vector<std::string> Others(const std::string& name) const {
    std::vector<std::string> others;
    std::copy_if(tasks_.begin(), tasks_.end(), std::back_inserter(others),
                 [&](const std::string& other) { return other != name; });
    return others;
  }

  Box BoxOf(const Set& pairs) const {
    Box box{pairs, Coalesce(ProjectOut(pairs, tasks_)), {}};
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
    for (size_t i = scope_.from.repeats.size(); i < tasks_.size(); ++i) {
      if (box.lines[i].IsFine()) {
        box.fine = true;
        box.volume *= *box.lines[i].length;
      }
    }
    return box;
  }

  void FindLines(Box& box) const {
    box.lines.clear();
    for (size_t i = 0; i < tasks_.size(); ++i) {
      box.lines.push_back(LineOf(box, i));
    }
  }

  /// Whether there is something to wait for even for tasks that need nothing, and less than all.
  static bool IsThere(const Box& box) {
    return std::all_of(box.lines.begin(), box.lines.end(), [&](const Line& line) {
      return !line.whole && IsSubset(box.consumers, Le(line.Low(), line.Last()));
    });
  }

  Line LineOf(const Box& box, size_t task) const {
    const Extent& all = all_[task];
    Set set = Along(tasks_[task], ProjectOut(box.pairs, Others(tasks_[task])));
    if (!set || !all.lo || !all.last) {
      return {};
    }
    set = Coalesce(set);
    Line line{AffineBounds{{all.lo}, {all.last}}};
    line.Add(set);
    Measure(box.consumers, all, line);
    if (line.IsFine() || line.chunk) {
      return line;
    }
    if (isl_set_n_basic_set(set.get()) > kMostCases) {
      return line;
    }
    Line exact{AffineBounds{{PwAff(isl_set_dim_min(set.copy(), 0))},
                            {PwAff(isl_set_dim_max(set.copy(), 0))}}};
    if (HasManyCases(exact.lo[0]) || HasManyCases(exact.last[0])) {
      return line;
    }
    Measure(box.consumers, all, exact);
    return exact.IsFine() || exact.chunk ? exact : line;
  }

  /// What nobody would write down, and takes long to compare.
  static bool HasManyCases(const PwAff& value) {
    return isl_pw_aff_n_piece(value.get()) > kMostCases;
  }

  void Measure(const Set& consumers, const Extent& all, Line& line) const {
    line.Thin(consumers);
    line.whole = line.lo.size() == 1 && line.last.size() == 1 &&
                 IsSubset(consumers, Eq(line.lo[0], all.lo) & Eq(line.last[0], all.last));
    if (!line.whole) {
      line.length = LengthOf(consumers, line);
      Simplify(consumers, line);
      FindChunk(consumers, all, line);
    }
  }

  std::optional<int64_t> LengthOf(const Set& consumers, const Line& line) const {
    return LargestOn(consumers, line.Last() - line.Low() + unknowns_.Constant(1), unknowns_);
  }

  /// Takes out bounds that mix coordinates where those by one coordinate give as short a window:
  /// then at most the tasks at the border wait for more than they need.
  void Simplify(const Set& consumers, Line& line) const {
    for (std::vector<PwAff> Line::*bounds : {&Line::lo, &Line::last}) {
      bool has_simple = std::any_of((line.*bounds).begin(), (line.*bounds).end(),
                                    [&](const PwAff& bound) { return Mixed(bound) == 1; });
      for (size_t i = (line.*bounds).size(); has_simple && line.length && i-- > 0;) {
        Line simpler = line;
        (simpler.*bounds).erase((simpler.*bounds).begin() + static_cast<std::ptrdiff_t>(i));
        if (Mixed((line.*bounds)[i]) > 1 && LengthOf(consumers, simpler) == line.length) {
          line = std::move(simpler);
        }
      }
    }
  }

  /// How many coordinates of the reader the bound depends on.
  size_t Mixed(const PwAff& bound) const {
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
  void FindChunk(const Set& consumers, const Extent& all, Line& line) const {
    if (!line.length || *line.length < 2) {
      return;
    }
    int64_t length = *line.length;
    PwAff chunk = Floor(line.Low() - all.lo, length);
    if (!IsSubset(consumers, Eq(chunk, Floor(line.Last() - all.lo, length)))) {
      return;
    }
    auto last = LargestOn(consumers, chunk, unknowns_);
    bool one = last && IsSubset(consumers, Eq(chunk, unknowns_.Constant(*last)));
    PwAff extent = all.last - all.lo + unknowns_.Constant(1);
    PwAff whole = unknowns_.Constant(length) * Floor(extent, length);
    if (!one ||
        IsSubset(scope_.producers, Eq(extent, whole) & Lt(unknowns_.Constant(length), extent))) {
      line.chunk = chunk;
    }
  }

  /// Whether it is of one task.
  bool IsSmallest(const Box& box) const {
    auto first = box.lines.begin() + static_cast<std::ptrdiff_t>(scope_.from.repeats.size());
    return std::all_of(first, box.lines.end(), [](const Line& line) {
      return line.chunk || (line.IsFine() && line.length == 1);
    });
  }

  /// Whether no part would be smaller.
  bool IsTight(const Box& whole, const std::vector<Box>& boxes) const {
    return std::any_of(boxes.begin(), boxes.end(), [&](const Box& box) {
      for (size_t i = scope_.from.repeats.size(); i < tasks_.size(); ++i) {
        const Line& line = whole.lines[i];
        if (!line.IsFine() && !line.chunk && box.lines[i].IsFine()) {
          return false;
        }
      }
      return whole.volume <= box.volume;
    });
  }

  /// Joins boxes, those first that lose least, while what is joined has little more than both.
  void Merge(std::vector<Box>& boxes) const {
    while (boxes.size() > 1) {
      std::optional<Box> best;
      size_t first = 0;
      size_t second = 0;
      int64_t least = 1;
      for (size_t i = 0; i < boxes.size(); ++i) {
        for (size_t j = i + 1; j < boxes.size(); ++j) {
          Box joined = BoxOf(boxes[i].pairs | boxes[j].pairs);
          int64_t more = joined.volume - boxes[i].volume - boxes[j].volume;
          if (more <= least && IsLike(joined, boxes[i]) && IsLike(joined, boxes[j]) &&
              (!best || more < least)) {
            best = std::move(joined);
            first = i;
            second = j;
            least = more;
          }
        }
      }
      if (!best) {
        return;
      }
      boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(second));
      boxes[first] = std::move(*best);
    }
  }

  /// Whether it tells the same coordinates apart.
  bool IsLike(const Box& a, const Box& b) const {
    for (size_t i = scope_.from.repeats.size(); i < tasks_.size(); ++i) {
      if (a.lines[i].IsFine() != b.lines[i].IsFine()) {
        return false;
      }
    }
    return true;
  }

  Needs TextOf(const Box& box) const {
    size_t repeats = scope_.from.repeats.size();
    Needs needs;
    needs.iterations.resize(repeats);
    needs.coordinates.resize(tasks_.size() - repeats);
    if (box.guarded) {
      needs.guard = ClosedForm(unknowns_, box.consumers, scope_.consumers);
      if (!needs.guard) {
        return needs;
      }
    }
    for (size_t i = 0; i < tasks_.size(); ++i) {
      Need& need = i < repeats ? needs.iterations[i] : needs.coordinates[i - repeats];
      need = TextOf(box.lines[i], box.consumers);
    }
    return needs;
  }

  Need TextOf(const Line& line, const Set& consumers) const {
    if (line.whole) {
      return {};
    }
    auto lo = TextOf(line.lo, TaskExpr::Kind::Max, consumers);
    auto last = TextOf(line.last, TaskExpr::Kind::Min, consumers);
    if (!lo || !last) {
      return {};
    }
    Need need{false, *lo, *last, line.length, {}};
    if (line.chunk) {
      need.chunk = TextOf(*line.chunk, consumers);
    }
    return need;
  }

  std::optional<TaskExpr> TextOf(const std::vector<PwAff>& bounds, TaskExpr::Kind kind,
                                 const Set& consumers) const {
    std::optional<TaskExpr> text;
    for (size_t i = bounds.size(); i-- > 0;) {  // the extents are the first, and stand last
      auto next = TextOf(bounds[i], consumers);
      if (!next) {
        return std::nullopt;
      }
      text = text ? TaskExpr{kind, 0, {}, BinaryOp::Add, {*text, *next}} : *next;
    }
    return text;
  }

  /// A coordinate of the task or its quotient by a number, if the value is one; else its closed
  /// form.
  std::optional<TaskExpr> TextOf(const PwAff& value, const Set& consumers) const {
    auto largest = LargestOn(consumers, value, unknowns_);
    for (size_t i = 0; i < scope_.to.axes.size(); ++i) {
      TaskExpr own{TaskExpr::Kind::Coordinate, static_cast<int64_t>(i)};
      PwAff coordinate = unknowns_.Param(CoordinateName(i, 2));
      if (IsSubset(consumers, Eq(value, coordinate))) {
        return own;
      }
      auto most = LargestOn(consumers, coordinate, unknowns_);
      if (!largest || !most || *largest < 1) {
        continue;
      }
      int64_t estimate = (*most + 1) / (*largest + 1);
      for (int64_t divisor : {estimate, estimate + 1}) {
        if (divisor > 1 && IsSubset(consumers, Eq(value, Floor(coordinate, divisor)))) {
          TaskExpr number{TaskExpr::Kind::Number, divisor};
          return TaskExpr{TaskExpr::Kind::Binary, 0, {}, BinaryOp::Div, {own, number}};
        }
      }
    }
    return ClosedForm(unknowns_, value, consumers);
  }

  const NeedsScope& scope_;
  const Unknowns& unknowns_;
  std::vector<std::string> tasks_;
  std::vector<Extent> all_;  // of each of them
};

}  // namespace

std::vector<Needs> NeedsOf(const NeedsScope& scope, const Set& pairs) {
  return Finder(scope).InParts(pairs);
}

Needs NeedsInOne(const NeedsScope& scope, const Set& pairs) { return Finder(scope).InOne(pairs); }

}  // namespace etc
