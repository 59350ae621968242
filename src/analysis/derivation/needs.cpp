#include "analysis/derivation/needs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/derivation/boxes.h"
#include "analysis/derivation/closed_form.h"

namespace etc {
namespace {

/// More pieces than these are not told apart.
constexpr isl_size kMostPieces = 12;
/// The most boxes that one dependence is split into.
constexpr size_t kMostBoxes = 4;

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

class Finder : private BoxFinder {
 public:
  using BoxFinder::BoxFinder;

  Needs InOne(const Set& pairs) const { return TextOf(BoxOf(pairs)); }

  std::vector<Needs> InParts(const Set& pairs) const {
    NeedsBox whole = BoxOf(pairs);
    if (IsSmallest(whole)) {
      return {TextOf(whole)};
    }
    std::vector<NeedsBox> boxes;
    if (Set joined = Coalesce(pairs); isl_set_n_basic_set(joined.get()) <= kMostPieces) {
      std::vector<Set> pieces = PiecesOf(joined);
      for (const Set& piece : pieces) {
        boxes.push_back(BoxOf(piece));
        // No box that this one is joined with will tell coordinates apart.
        if (pieces.size() > 1 && !boxes.back().fine) {
          return {TextOf(whole)};
        }
      }
    }
    if (boxes.size() == 1) {
      boxes = CrossOf(whole);
    } else if (!boxes.empty() && IsTight(whole, boxes)) {
      boxes.clear();
    } else {
      Merge(boxes);
    }
    bool useful =
        boxes.size() <= kMostBoxes &&
        std::all_of(boxes.begin(), boxes.end(), [](const NeedsBox& box) { return box.fine; });
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
  /// Whether it is of one task.
  bool IsSmallest(const NeedsBox& box) const {
    auto first = box.lines.begin() + static_cast<std::ptrdiff_t>(scope_.from.repeats.size());
    return std::all_of(first, box.lines.end(), [](const NeedsLine& line) {
      return line.chunk || (line.IsFine() && line.length == 1);
    });
  }

  /// The pairs of one box along each of its axes, through the reader's own place, if that is all:
  /// five points of a stencil are one convex set, but two lines in a square.
  std::vector<NeedsBox> CrossOf(const NeedsBox& whole) const {
    std::vector<std::pair<size_t, PwAff>> own;  // where the reader stands in each wide coordinate
    for (size_t i = scope_.from.repeats.size(); i < tasks_.size(); ++i) {
      const NeedsLine& line = whole.lines[i];
      if (line.IsFine() && *line.length > 1) {
        for (size_t k = 0; k < scope_.to.axes.size(); ++k) {
          PwAff place = unknowns_.Param(CoordinateName(k, 2));
          if (IsSubset(whole.consumers, Le(line.Low(), place) & Le(place, line.Last()))) {
            own.emplace_back(i, place);
            break;
          }
        }
      }
    }
    std::vector<NeedsBox> lines;
    Set all = whole.pairs - whole.pairs;
    for (size_t along = 0; own.size() > 1 && along < own.size(); ++along) {
      Set pairs = whole.pairs;
      for (size_t i = 0; i < own.size(); ++i) {
        pairs =
            i == along ? pairs : pairs & Eq(unknowns_.Param(tasks_[own[i].first]), own[i].second);
      }
      all = all | pairs;
      lines.push_back(BoxOf(pairs));
    }
    return IsSubset(whole.pairs, all) ? lines : std::vector<NeedsBox>();
  }

  /// Whether no part would be smaller.
  bool IsTight(const NeedsBox& whole, const std::vector<NeedsBox>& boxes) const {
    return std::any_of(boxes.begin(), boxes.end(), [&](const NeedsBox& box) {
      for (size_t i = scope_.from.repeats.size(); i < tasks_.size(); ++i) {
        const NeedsLine& line = whole.lines[i];
        if (!line.IsFine() && !line.chunk && box.lines[i].IsFine()) {
          return false;
        }
      }
      return whole.volume <= box.volume;
    });
  }

  /// Joins boxes, those first that lose least, while what is joined has little more than both.
  void Merge(std::vector<NeedsBox>& boxes) const {
    std::vector<size_t> numbers(boxes.size());  // of boxes that were there, those joined behind
    std::iota(numbers.begin(), numbers.end(), 0);
    std::map<std::pair<size_t, size_t>, NeedsBox> joined_of;
    for (size_t next = boxes.size(); boxes.size() > 1; ++next) {
      const NeedsBox* best = nullptr;
      size_t first = 0;
      size_t second = 0;
      int64_t least = 1;
      for (size_t i = 0; i < boxes.size(); ++i) {
        for (size_t j = i + 1; j < boxes.size(); ++j) {
          auto known = joined_of.find({numbers[i], numbers[j]});
          if (known == joined_of.end()) {
            NeedsBox joined = BoxOf(boxes[i].pairs | boxes[j].pairs);
            known = joined_of.emplace(std::pair(numbers[i], numbers[j]), std::move(joined)).first;
          }
          const NeedsBox& joined = known->second;
          int64_t more = joined.volume - boxes[i].volume - boxes[j].volume;
          if (more <= least && IsLike(joined, boxes[i]) && IsLike(joined, boxes[j]) &&
              (best == nullptr || more < least)) {
            best = &joined;
            first = i;
            second = j;
            least = more;
          }
        }
      }
      if (best == nullptr) {
        return;
      }
      boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(second));
      boxes[first] = *best;
      numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(second));
      numbers[first] = next;
    }
  }

  /// Whether it tells the same coordinates apart.
  bool IsLike(const NeedsBox& a, const NeedsBox& b) const {
    for (size_t i = scope_.from.repeats.size(); i < tasks_.size(); ++i) {
      if (a.lines[i].IsFine() != b.lines[i].IsFine()) {
        return false;
      }
    }
    return true;
  }

  Needs TextOf(const NeedsBox& box) const {
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

  Need TextOf(const NeedsLine& line, const Set& consumers) const {
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
    std::optional<int64_t> largest;
    for (size_t i = 0; i < scope_.to.axes.size(); ++i) {
      TaskExpr own{TaskExpr::Kind::Coordinate, static_cast<int64_t>(i)};
      PwAff coordinate = unknowns_.Param(CoordinateName(i, 2));
      if (AreEqualOn(consumers, value, coordinate)) {
        return own;
      }
      largest = i == 0 ? LargestOn(consumers, value, unknowns_) : largest;
      if (!largest || *largest < 1) {
        continue;
      }
      auto most = LargestOn(consumers, coordinate, unknowns_);
      if (!most) {
        continue;
      }
      int64_t estimate = (*most + 1) / (*largest + 1);
      for (int64_t divisor : {estimate, estimate + 1}) {
        if (divisor > 1 && IsSubset(consumers, Eq(value, FloorBy(coordinate, divisor)))) {
          TaskExpr number{TaskExpr::Kind::Number, divisor};
          return TaskExpr{TaskExpr::Kind::Binary, 0, {}, BinaryOp::Div, {own, number}};
        }
      }
    }
    return ClosedForm(unknowns_, value, consumers);
  }
};

}  // namespace

std::vector<Needs> NeedsOf(const NeedsScope& scope, const Set& pairs) {
  return Finder(scope).InParts(pairs);
}

Needs NeedsInOne(const NeedsScope& scope, const Set& pairs) { return Finder(scope).InOne(pairs); }

}  // namespace etc
