#include "analysis/proofs/missing_event.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/sets/task_pairs.h"
#include "ir/printer.h"

namespace etc {
namespace {

class Finder {
 public:
  Finder(Unknowns& unknowns, const ProgramCall& x, const ProgramCall& y, const Set& conflict,
         const Set& open)
      : unknowns_(unknowns),
        module_(unknowns.module()),
        x_(x),
        y_(y),
        conflict_(conflict),
        open_(open) {}

  std::optional<MissingEvent> Run() {
    TaskScope task(unknowns_, x_, 1);
    Set waiting = TaskScope(unknowns_, y_, 2).domain;
    std::vector<std::string> x_names = CoordinateNames(x_);
    std::vector<std::string> y_names = CoordinateNames(y_);
    Iterations();
    for (size_t k = 0; k < x_.axes.size(); ++k) {
      const Axis& axis = x_.axes[k];
      PwAff extent = task.converter.Int(axis.hi);
      if (!IsSize(extent) || (axis.lo && !IsSize(task.converter.Int(axis.lo)))) {
        return std::nullopt;
      }
      std::optional<size_t> match = axis.lo ? std::nullopt : Match(k, extent, waiting);
      if (match) {
        extents_.push_back(Print(module_, axis.hi));
        notified_.push_back(x_names[k]);
        waited_.push_back(y_names[*match]);
      } else {
        counts_.push_back(Extent(axis));
      }
    }
    return Text(x_names, y_names);
  }

 private:
  /// The element's indices for the iterations of the repeats around the first call: the second one
  /// waits for its own, or for an earlier one of the innermost repeat that a conflict crosses, and
  /// for all of those inside.
  void Iterations() {
    size_t same = CommonRepeats(x_, y_);
    bool later = same > 0 && IsEmpty(conflict_ & InOneIteration(unknowns_, same));
    same -= later ? 1 : 0;
    while (later && same > 0 && IsEmpty(conflict_ & InLaterIteration(unknowns_, same))) {
      --same;
    }
    for (size_t i = 0; i < x_.repeats.size(); ++i) {
      const std::string& l = module_.symbols[x_.repeats[i].var].name;
      std::string lo = Print(module_, x_.repeats[i].lo);
      std::string hi = Print(module_, x_.repeats[i].hi);
      extents_.push_back(hi);
      notified_.push_back(l);
      if (i < same) {
        waited_.push_back(l);
      } else if (i == same && later) {
        int64_t distance = Distance(i);
        waited_.push_back(fmt::format("{} - {}", l, distance));
        guard_ = distance == 1 ? fmt::format(" if {} > {}", l, lo)
                               : fmt::format(" if {} >= {}", l, Later(x_.repeats[i], distance));
      } else {
        waited_.push_back(fmt::format("{}..{}", lo, hi));
      }
    }
  }

  /// The iteration that comes so many behind the first.
  std::string Later(const EnclosingRepeat& repeat, int64_t distance) const {
    return repeat.fixed ? fmt::format("{}", repeat.iterations.lo + distance)
                        : fmt::format("{} + {}", Print(module_, repeat.lo), distance);
  }

  /// How many iterations of the repeat lie between two tasks that race, at least: a place in a ring
  /// of buffers is used again only after all the others.
  int64_t Distance(size_t repeat) const {
    Map later = ToMap(unknowns_, open_ & InLaterIteration(unknowns_, repeat), IterationNames(x_, 1),
                      IterationNames(y_, 2));
    return LeastDistance(later, repeat).value_or(1);
  }

  /// The first coordinate of the second call that is always the first call's coordinate `k`.
  std::optional<size_t> Match(size_t k, const PwAff& extent, const Set& waiting) const {
    PwAff notifier = unknowns_.Param(CoordinateName(k, 1));
    for (size_t m = 0; m < y_.axes.size(); ++m) {
      PwAff waiter = unknowns_.Param(CoordinateName(m, 2));
      if (IsSubset(conflict_, Eq(notifier, waiter)) && IsSubset(waiting, Lt(waiter, extent)) &&
          IsSubset(waiting, Le(unknowns_.Constant(0), waiter))) {
        return m;
      }
    }
    return std::nullopt;
  }

  /// Whether nothing but sizes decides the value.
  bool IsSize(const PwAff& value) const {
    for (const std::string& name : unknowns_.Involved(Eq(unknowns_.Param("value@"), value))) {
      const Term* term = unknowns_.Find(name);
      if (name != "value@" && !unknowns_.IsDim(name) && (term == nullptr || !term->global)) {
        return false;
      }
    }
    return true;
  }

  std::string Extent(const Axis& axis) const {
    std::string hi = Print(module_, axis.hi);
    return axis.lo ? fmt::format("{} - {}", hi, Factor(Print(module_, axis.lo))) : hi;
  }

  static std::string Factor(const std::string& text) {
    return text.find(' ') == std::string::npos ? text : "(" + text + ")";
  }

  /// Names for an edge: those of the device function, unless a repeat has them.
  std::vector<std::string> CoordinateNames(const ProgramCall& call) const {
    std::vector<std::string> names;
    for (const Axis& axis : call.axes) {
      std::string name = module_.symbols[axis.var].name;
      auto taken = [&](const EnclosingRepeat& repeat) {
        return module_.symbols[repeat.var].name == name;
      };
      while (std::any_of(call.repeats.begin(), call.repeats.end(), taken)) {
        name += "_";
      }
      names.push_back(std::move(name));
    }
    return names;
  }

  MissingEvent Text(const std::vector<std::string>& x_names,
                    const std::vector<std::string>& y_names) const {
    std::string count;
    for (const std::string& factor : counts_) {
      count += (count.empty() ? "" : " * ") + (counts_.size() > 1 ? Factor(factor) : factor);
    }
    count = count.empty() ? "1" : count;
    auto wait = [&](const std::string& name) {
      return fmt::format("wait ({}) => %{}{}{}", fmt::join(y_names, ", "), name, Indices(waited_),
                         guard_);
    };
    for (const TaskEdge& notify : x_.notifies) {
      if (IsAlike(notify, x_names, count)) {
        return {"", "", wait(module_.events[notify.ref->event].name)};
      }
    }
    std::string name = Name();
    return {fmt::format("event %{}{} count {};", name, Indices(extents_), count),
            fmt::format("notify ({}) => %{}{}", fmt::join(x_names, ", "), name, Indices(notified_)),
            wait(name)};
  }

  static std::string Indices(const std::vector<std::string>& all) {
    return all.empty() ? "" : fmt::format("[{}]", fmt::join(all, ", "));
  }

  /// Whether the first call notifies an event of the same shape and count in the same way.
  bool IsAlike(const TaskEdge& notify, const std::vector<std::string>& x_names,
               const std::string& count) const {
    const Event& event = module_.events[notify.ref->event];
    std::vector<std::string> extents, indices;
    for (const EventDim& dim : event.dims) {
      extents.push_back(Print(module_, dim.extent));
    }
    for (const std::string& index : notified_) {
      auto k =
          static_cast<size_t>(std::find(x_names.begin(), x_names.end(), index) - x_names.begin());
      indices.push_back(k < notify.coords.size() ? module_.symbols[notify.coords[k]].name : index);
    }
    return extents == extents_ && Print(module_, event.count) == count &&
           Print(module_, *notify.ref) == fmt::format("%{}{}", event.name, Indices(indices));
  }

  std::string Name() const {
    auto taken = [&](const std::string& name) {
      auto is = [&](const auto& each) { return each.name == name; };
      return std::any_of(module_.events.begin(), module_.events.end(), is) ||
             std::any_of(module_.tensors.begin(), module_.tensors.end(), is);
    };
    std::string stem = x_.device->name + "_done";
    std::string name = stem;
    for (int number = 2; taken(name); ++number) {
      name = fmt::format("{}_{}", stem, number);
    }
    return name;
  }

  Unknowns& unknowns_;
  const Module& module_;
  const ProgramCall& x_;
  const ProgramCall& y_;
  const Set& conflict_;
  const Set& open_;
  std::vector<std::string> extents_;   // of the event
  std::vector<std::string> notified_;  // indices
  std::vector<std::string> waited_;
  std::vector<std::string> counts_;  // factors
  std::string guard_;
};

}  // namespace

std::optional<MissingEvent> FindMissingEvent(Unknowns& unknowns, const ProgramCall& x,
                                             const ProgramCall& y, const Set& conflict,
                                             const Set& open) {
  return Finder(unknowns, x, y, conflict, open).Run();
}

}  // namespace etc
