#include "schedule/choose_via.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/events_of_sm.h"
#include "analysis/samples.h"
#include "analysis/sm_places.h"
#include "ir/evaluate.h"

namespace etc {
namespace {

/// Of shared memory, for counters: a fraction of a slot of the loader's ring.
constexpr int64_t kMostCounterBytes = 4096;

/// Looks for one pair of tasks at one size that is on two SMs, which most events have: that takes
/// no sets.
class QuickLook {
 public:
  QuickLook(const Module& module, const CallProgram& program, const Sizes& sizes)
      : module_(module), program_(program), sizes_(sizes) {}

  /// Whether a pair was found. The first tasks and the first two iterations are looked at.
  bool FindsApart(EventId event) const {
    for (const ProgramCall& notifier : program_.calls) {
      for (const TaskEdge& notify : notifier.notifies) {
        if (notify.ref->event == event && FindsApart(notifier, *notify.ref)) {
          return true;
        }
      }
    }
    return false;
  }

 private:
  static constexpr int64_t kTasks = 64;

  struct Task {
    Env values;
    int64_t place;
  };

  bool FindsApart(const ProgramCall& notifier, const EventRef& notify) const {
    for (const Task& task : FirstTasks(notifier, 0, 2)) {
      auto element = ElementOf(notify, task.values);
      for (const ProgramCall& waiter : program_.calls) {
        for (const TaskEdge& wait : waiter.waits) {
          if (element && wait.ref->event == notify.event &&
              FindsApart(waiter, *wait.ref, *element, task.place)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  bool FindsApart(const ProgramCall& waiter, const EventRef& wait,
                  const std::vector<int64_t>& element, int64_t place) const {
    for (int64_t iteration : {0, 1}) {
      for (const Task& task : FirstTasks(waiter, iteration, kTasks)) {
        if (task.place != place && Names(wait, task.values, element)) {
          return true;
        }
      }
    }
    return false;
  }

  /// The first tasks of a box, in so many iterations behind the first of each repeat; none where
  /// something is not known.
  std::vector<Task> FirstTasks(const ProgramCall& call, int64_t iteration, int64_t most) const {
    std::vector<Task> tasks;
    Env values = sizes_.dims;
    values[module_.sms] = 0;  // a multiple of it changes no SM
    for (const EnclosingRepeat& repeat : call.repeats) {
      auto lo = Value(repeat.lo, values), hi = Value(repeat.hi, values);
      if (!lo || !hi || *lo + iteration >= *hi) {
        return tasks;
      }
      values[repeat.var] = *lo + iteration;
    }
    const auto& share = std::get<Share>(module_.nodes[call.node]);
    auto first = share.first ? Value(share.first, values) : std::nullopt;
    std::vector<int64_t> lows, extents;
    for (const Axis& axis : call.axes) {
      auto lo = axis.lo ? Value(axis.lo, values) : 0, hi = Value(axis.hi, values);
      if (!lo || !hi) {
        return tasks;
      }
      lows.push_back(*lo);
      extents.push_back(*hi - *lo);
      most = std::min(most, extents.back() > 0 ? most : 0);
    }
    for (int64_t number = 0; first && number < most; ++number) {
      int64_t rest = number;
      for (size_t i = call.axes.size(); i-- > 0;) {
        values[call.axes[i].var] = lows[i] + rest % extents[i];
        rest /= extents[i];
      }
      if (rest > 0) {
        break;
      }
      tasks.push_back({values, *first + number});
    }
    return tasks;
  }

  /// One of the elements that a reference names; nothing where there is none, or none is known.
  std::optional<std::vector<int64_t>> ElementOf(const EventRef& ref, Env values) const {
    for (const Axis& axis : ref.axes) {
      auto lo = axis.lo ? Value(axis.lo, values) : 0;
      if (!lo) {
        return std::nullopt;
      }
      values[axis.var] = *lo;
    }
    if (!Holds(ref, values)) {
      return std::nullopt;
    }
    std::vector<int64_t> element;
    for (const EventIndex& index : ref.indices) {
      auto value = index.all ? 0 : Value(index.lo, values);
      if (!value) {
        return std::nullopt;
      }
      element.push_back(*value);
    }
    return element;
  }

  /// Whether a reference certainly names the element.
  bool Names(const EventRef& ref, const Env& values, const std::vector<int64_t>& element) const {
    if (!ref.axes.empty() || !Holds(ref, values)) {
      return false;
    }
    for (size_t i = 0; i < ref.indices.size(); ++i) {
      const EventIndex& index = ref.indices[i];
      if (index.all) {
        continue;
      }
      auto lo = Value(index.lo, values);
      auto hi = index.hi ? Value(index.hi, values) : lo ? std::optional(*lo + 1) : lo;
      if (!lo || !hi || element[i] < *lo || element[i] >= *hi) {
        return false;
      }
    }
    return true;
  }

  bool Holds(const EventRef& ref, const Env& values) const {
    return !ref.guard || EvaluateBool(module_, ref.guard, values, sizes_.ranges).value_or(false);
  }

  std::optional<int64_t> Value(ExprId id, const Env& values) const {
    return EvaluateInt(module_, id, values, sizes_.ranges);
  }

  const Module& module_;
  const CallProgram& program_;
  const Sizes& sizes_;
};

/// Chooses for the events of one kernel.
class Chooser {
 public:
  Chooser(const Module& module, const Kernel& kernel)
      : module_(module), kernel_(kernel), program_(MakeCallProgram(module, kernel)) {}

  Realisation Choose(EventId event) {
    bool none = !FindViaObstacle(module_, kernel_, event, Realisation::None);
    bool shared = !FindViaObstacle(module_, kernel_, event, Realisation::Shared);
    auto counters = MostCounters(module_, kernel_, module_.events[event]);
    shared = shared && counters && *counters <= room_;
    if ((!none && !shared) || !StaysOnSm(event)) {
      return Realisation::Counter;
    }
    if (none) {
      return Realisation::None;
    }
    room_ -= *counters;
    return Realisation::Shared;
  }

 private:
  bool StaysOnSm(EventId event) {
    if (!sizes_) {
      sizes_ = SampleSizes(module_, kernel_.where);
    }
    if (sizes_->empty() || program_.open ||
        QuickLook(module_, program_, sizes_->front()).FindsApart(event) ||
        QuickLook(module_, program_, sizes_->back()).FindsApart(event)) {
      return false;
    }
    if (!unknowns_) {
      unknowns_.emplace(module_, program_, context_);
      context_.SetBudget();
      relations_ = MakeEventRelations(*unknowns_);
    }
    bool waits = false;
    for (const EdgeRelation& wait : relations_.waits) {
      for (const EdgeRelation& notify : relations_.notifies) {
        if (wait.ref->event != event || notify.ref->event != event) {
          continue;
        }
        waits = true;
        context_.SetBudget();
        if (!IsEmpty(SmPlaces(*unknowns_).Apart(notify, wait))) {
          return false;
        }
      }
    }
    return waits;
  }

  const Module& module_;
  const Kernel& kernel_;
  const CallProgram program_;
  std::optional<std::vector<Sizes>> sizes_;
  int64_t room_ = kMostCounterBytes / kCtaCounterBytes;
  IslContext context_;
  std::optional<Unknowns> unknowns_;
  EventRelations relations_;
};

}  // namespace

void ChooseVia(Module& module, KernelId id) {
  std::vector<std::pair<EventId, Realisation>> chosen;
  {
    Chooser chooser(module, module.kernels[id]);
    for (NodeId node : module.kernels[id].declarations) {
      const auto* declaration = std::get_if<EventDecl>(&module.nodes[node]);
      if (declaration != nullptr &&
          module.events[declaration->event].realisation == Realisation::Unset) {
        chosen.emplace_back(declaration->event, chooser.Choose(declaration->event));
      }
    }
  }
  for (const auto& [event, realisation] : chosen) {
    module.events[event].realisation = realisation;
  }
}

}  // namespace etc
