// Conflicts that follow from others, as a task between both touches the same element.
#pragma once

#include <compare>
#include <map>
#include <utility>
#include <vector>

#include "analysis/regions.h"

namespace etc {

/// The tasks of one call that must complete before those of another, in one iteration of each of
/// the outermost `repeats` repeats, which are around both.
struct Dependence {
  size_t from;  // the call that comes first in program order or in time
  size_t to;
  size_t repeats;
  /// Carried: from an iteration to a later one of the repeat inside of these, which is around both;
  /// else no further repeat is.
  bool carried = false;

  /// The repeats that it says something of; those inside of them run through all iterations.
  size_t Related() const { return repeats + (carried ? 1 : 0); }

  auto operator<=>(const Dependence&) const = default;
};

/// If a task between two in program order conflicts with both on the element on which they do, and
/// both of these conflicts are in order, so is theirs. Where that holds of all such conflicts, by
/// induction over how far apart tasks stand only those need an event that nothing stands between.
class Between {
 public:
  /// Both must outlive it.
  Between(const Unknowns& unknowns, const ProgramAccesses& accesses)
      : unknowns_(unknowns), calls_(unknowns.program().calls), accesses_(accesses) {}

  /// Of the conflicts of one access by `from` with one by `to`, a set over tasks 1 and 2 and the
  /// element, those for which there may be no such task.
  Set WithoutOthers(const Dependence& dependence, const AccessRegion& a, const AccessRegion& b,
                    const Set& conflicts);
  /// Whether none are left, whatever the conflicts are. It looks for one call that touches all
  /// elements that `to` does, which is quick; `true` is certain.
  bool AllFollow(const Dependence& dependence, const AccessRegion& a, const AccessRegion& b);

 private:
  /// Tasks of a call that stand between: in any iteration of the outermost `free` repeats; inside
  /// of them, up to `fixed`, in the last one behind task 1, in the first one before task 2.
  struct Part {
    size_t call;
    TensorId tensor;
    bool reads;         // count, too
    int instance;       // whose names the iterations have
    bool next = false;  // the innermost of the free repeats is in the iteration behind that
    size_t free;
    size_t fixed;

    auto operator<=>(const Part&) const = default;
  };
  /// Where task 1 is in the last iteration of the repeats from `free` up to `depth` and not in that
  /// of the next one, if there is one; or task 2 in the first.
  struct Case {
    Set where;
    size_t depth;
  };

  std::vector<Case> CasesOf(const ProgramCall& call, size_t free, int instance) const;
  void AddParts(const ProgramCall& call, const Case& task, Part part,
                std::vector<Part>& parts) const;
  std::vector<Part> PartsBetween(const Dependence& d, const Case& from, const Case& to, bool far,
                                 Part part) const;
  bool AreCovered(const Dependence& d, const std::vector<Part>& parts, const Set& conflicts);
  const Set& Touched(const Part& part);

  const Unknowns& unknowns_;
  const std::vector<ProgramCall>& calls_;
  const ProgramAccesses& accesses_;
  std::map<Part, Set> touched_;
  std::map<const AccessRegion*, Set> elements_;
  std::map<std::pair<Part, const AccessRegion*>, bool> covers_;
};

}  // namespace etc
