#include "verify/queue_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/shapes.h"
#include "ir/printer.h"
#include "ir/queue.h"
#include "ir/rewrite.h"
#include "ir/task_count.h"
#include "ir/walk.h"
#include "verify/wording.h"

namespace etc {
namespace {

class QueueChecks {
 public:
  QueueChecks(const Module& module, const Kernel& kernel, Diagnostics& diagnostics)
      : module_(module), ranges_(RangesOf(module, kernel)), diagnostics_(diagnostics) {}

  void Run(const Kernel& kernel) {
    std::vector<ShareSite> sites = SharesOf(module_, kernel);
    for (const ShareSite& site : sites) {
      if (const auto& on = ShareAt(site).pushed_by; on && IsInQueue(site)) {
        CheckPushed(site, *on);
      }
    }
    std::set<NodeId> begun;  // cases up to here
    for (const ShareSite& site : sites) {
      CheckSignals(site);
      for (const EventRef& ref : ShareAt(site).arrivals) {
        CheckArrival(site, ref, begun);
      }
      CheckAfter(site, begun);
      begun.insert(site.share);
    }
    for (const ShareSite& site : DispatchesOf(module_, kernel)) {
      const auto& dispatch = std::get<Dispatch>(module_.nodes[site.dispatch]);
      if (dispatch.capacity && std::none_of(dispatch.cases.begin(), dispatch.cases.end(),
                                            [&](NodeId id) { return pushes_.contains(id); })) {
        Wrong(module_.RangeOf(site.dispatch),
              "no case of the queue is pushed by a trigger; a dispatch of such cases is a `drain`");
      }
    }
  }

 private:
  const Share& ShareAt(const ShareSite& site) const {
    return std::get<Share>(module_.nodes[site.share]);
  }
  bool IsInQueue(const ShareSite& site) const {
    return site.dispatch && std::get<Dispatch>(module_.nodes[site.dispatch]).capacity;
  }
  const Event& EventOf(const EventRef& ref) const { return module_.events[ref.event]; }
  const std::string& NameOf(NodeId share) const {
    return module_.devices[std::get<Share>(module_.nodes[share]).callee].name;
  }

  Diagnostic& Wrong(SourceRange range, std::string message) {
    return diagnostics_.Error(DiagnosticKind::Structure, range, std::move(message));
  }

  /// Waits and notifies are of events, the rest is of triggers and in queues.
  void CheckSignals(const ShareSite& site) {
    const Share& share = ShareAt(site);
    for (const auto* refs : {&share.range_waits, &share.enter_waits, &share.waits,
                             &share.after_waits, &share.notifies, &share.leave_notifies}) {
      for (const EventRef& ref : *refs) {
        if (EventOf(ref).trigger) {
          Wrong(ref.range,
                fmt::format("`%{}` is a trigger, which counts tasks that have been given "
                            "out; a task waits for and notifies events",
                            EventOf(ref).name))
              .notes.push_back(DeclaredHere(EventOf(ref)));
        }
      }
    }
    if (IsInQueue(site)) {
      NothingFlagged(site);
      return;
    }
    auto misplaced = [&](const EventRef& ref, const char* word) {
      Wrong(ref.range, fmt::format("`{}` stands in a case of a queue", word));
    };
    if (share.pushed_by) {
      misplaced(*share.pushed_by, "on");
    }
    for (const EventRef& ref : share.arrivals) {
      misplaced(ref, "arrive");
    }
    for (const EventRef& ref : share.after_arrivals) {
      misplaced(ref, "after");
    }
  }

  /// The proof that no task waits for one that nobody has been given goes by events.
  void NothingFlagged(const ShareSite& site) {
    for (const Argument& argument : ShareAt(site).args) {
      const Tensor& tensor = module_.tensors[argument.tensor];
      if (tensor.flagged) {
        Wrong(module_.RangeOf(site.share),
              fmt::format("`%{}` is flagged, but what tasks of a queue wait for must be events",
                          tensor.name))
            .notes.push_back(DeclaredHere(tensor));
      }
    }
  }

  bool IsTrigger(const EventRef& ref, const char* word) {
    if (!EventOf(ref).trigger) {
      Wrong(ref.range,
            fmt::format("`{}` names a trigger, but `%{}` is an event", word, EventOf(ref).name))
          .notes.push_back(DeclaredHere(EventOf(ref)));
    }
    return EventOf(ref).trigger;
  }

  /// Whether each index is one value, and those in front are the iterations of the repeats around.
  bool IsPlain(const ShareSite& site, const EventRef& ref) const {
    std::vector<Axis> iterations = IterationsOf(module_, site);
    bool plain = ref.axes.empty() && !ref.guard && ref.indices.size() >= iterations.size();
    for (size_t i = 0; plain && i < ref.indices.size(); ++i) {
      const EventIndex& index = ref.indices[i];
      plain = !index.all && !index.hi && !ReadsTensor(module_, index.lo) &&
              (i >= iterations.size() || IsSymbol(module_, index.lo, iterations[i].var));
    }
    return plain;
  }

  /// An element pushes the tasks of an iteration that have its first coordinates.
  void CheckPushed(const ShareSite& site, const EventRef& on) {
    const Share& share = ShareAt(site);
    if (!IsTrigger(on, "on")) {
      return;
    }
    const Event& trigger = EventOf(on);
    auto [other, is_first] = pushed_by_.emplace(on.event, site.share);
    pushes_.insert(site.share);
    if (!is_first) {
      Wrong(on.range, fmt::format("`%{}` pushes tasks of two cases", trigger.name))
          .notes.push_back({module_.RangeOf(other->second), "it pushes those of this one, too"});
      return;
    }
    std::vector<Axis> axes = IterationsOf(module_, site);
    size_t iterations = axes.size();
    size_t given = MostGiven(module_, share);
    axes.insert(axes.end(), share.axes.begin(), share.axes.end());
    if (on.indices.size() > iterations + given && on.indices.size() <= axes.size()) {
      Wrong(on.range,
            fmt::format("what pushes tasks of `@{}` may have {} for indices, but not `{}`: ranges "
                        "depend on data or on each other, and the tasks of an element must follow "
                        "each other",
                        NameOf(site.share),
                        given == 0   ? "no coordinates"
                        : given == 1 ? "their first coordinate"
                                     : fmt::format("their first {} coordinates", given),
                        module_.symbols[axes[iterations + given].var].name));
      return;
    }
    bool plain = IsPlain(site, on) && on.indices.size() <= axes.size();
    for (size_t i = iterations; plain && i < on.indices.size(); ++i) {
      plain = IsSymbol(module_, on.indices[i].lo, axes[i].var);
    }
    if (!plain) {
      Wrong(on.range,
            fmt::format("what pushes tasks of `@{}` must have the iterations of the repeats around "
                        "it for indices, and then the first coordinates of its tasks",
                        NameOf(site.share)));
      return;
    }
    for (size_t i = 0; i < std::min(trigger.dims.size(), on.indices.size()); ++i) {
      const EventDim& dim = trigger.dims[i];
      if (!SameSize(module_, dim.extent, axes[i].hi, ranges_)) {
        Wrong(module_.RangeOf(dim.extent),
              fmt::format("axis {} of `%{}` must be as long as `{}` is, {}, since it pushes tasks "
                          "of `@{}`",
                          i, trigger.name, module_.symbols[axes[i].var].name,
                          Print(module_, axes[i].hi), NameOf(site.share)))
            .notes.push_back({on.range, "it pushes them here"});
      }
    }
  }

  /// A task arrives for cases behind its own, in its own iteration and once. So does a push.
  void CheckArrival(const ShareSite& site, const EventRef& ref, const std::set<NodeId>& begun) {
    if (!IsInQueue(site) || !CheckArrives(site, ref, begun)) {
      return;
    }
    if (ReadsTensor(module_, EventOf(ref).count)) {
      Wrong(ref.range,
            fmt::format("`%{}` counts what tensors say, so tasks arrive there in `after`, "
                        "behind the waits for these",
                        EventOf(ref).name))
          .notes.push_back(DeclaredHere(EventOf(ref)));
    }
    if (ArriveByPush(module_, ShareAt(site))) {
      CheckPushArrival(site, ref);
    } else if (!IsBox(module_, ShareAt(site).axes)) {
      Wrong(ref.range, fmt::format("tasks of `@{}` arrive at a trigger, but the range of an axis "
                                   "depends on another or on data",
                                   NameOf(site.share)));
    } else if (!IsPlain(site, ref)) {
      Wrong(ref.range,
            "a task arrives at one element of a trigger, in its own iteration of the "
            "repeats around it");
    }
  }

  /// What stands under `after`: whoever is given a task waits there, so it must have left what is
  /// there from the start.
  void CheckAfter(const ShareSite& site, const std::set<NodeId>& begun) {
    const Share& share = ShareAt(site);
    if (!IsInQueue(site) || share.after_arrivals.empty()) {
      return;
    }
    if (!share.pushed_by || !IsBox(module_, share.axes)) {
      Wrong(share.after_arrivals.front().range,
            fmt::format("`after` stands in a case that a trigger pushes and whose ranges the sizes "
                        "tell, but tasks of `@{}` are {}",
                        NameOf(site.share),
                        share.pushed_by ? "as many as data or other coordinates say"
                                        : "there from the start"));
      return;
    }
    for (const EventRef& ref : share.after_arrivals) {
      if (CheckArrives(site, ref, begun) && !AreElements(site, ref)) {
        Wrong(ref.range,
              "a task arrives at single elements of a trigger, one for each value of `for`, in its "
              "own iteration of the repeats around it");
      }
    }
  }

  /// Whether each index is one value, which a tensor may have, and those in front are the
  /// iterations of the repeats around.
  bool AreElements(const ShareSite& site, const EventRef& ref) const {
    std::vector<Axis> iterations = IterationsOf(module_, site);
    bool single = ref.indices.size() >= iterations.size();
    for (size_t i = 0; single && i < ref.indices.size(); ++i) {
      const EventIndex& index = ref.indices[i];
      single = !index.all && !index.hi &&
               (i >= iterations.size() || IsSymbol(module_, index.lo, iterations[i].var));
    }
    return single;
  }

  /// Whether it is a trigger, which pushes a case of this queue behind that of the task.
  bool CheckArrives(const ShareSite& site, const EventRef& ref, const std::set<NodeId>& begun) {
    if (!IsTrigger(ref, "arrive")) {
      return false;
    }
    auto pushed = pushed_by_.find(ref.event);
    const auto& cases = std::get<Dispatch>(module_.nodes[site.dispatch]).cases;
    if (pushed == pushed_by_.end() ||
        std::find(cases.begin(), cases.end(), pushed->second) == cases.end()) {
      Wrong(ref.range, fmt::format("`%{}` pushes no case of this queue", EventOf(ref).name))
          .notes.push_back(DeclaredHere(EventOf(ref)));
    } else if (pushed->second == site.share || begun.contains(pushed->second)) {
      Wrong(ref.range, fmt::format("a task of `@{}` arrives at `%{}`, which pushes tasks of `@{}`: "
                                   "they must belong to a case behind it",
                                   NameOf(site.share), EventOf(ref).name, NameOf(pushed->second)));
    }
    if (pushed != pushed_by_.end() && !ShareAt(site).pushed_by &&
        ArriveByPush(module_, std::get<Share>(module_.nodes[pushed->second]))) {
      Wrong(
          ref.range,
          fmt::format("tasks of `@{}` are there from the start, and arrive at `%{}`, which pushes "
                      "as many tasks of `@{}` as data or other coordinates say: an SM that waits "
                      "for those must have left what is there from the start",
                      NameOf(site.share), EventOf(ref).name, NameOf(pushed->second)));
    }
    return true;
  }

  /// Whoever pushes the tasks of an element knows its coordinates, and not those of the tasks.
  void CheckPushArrival(const ShareSite& site, const EventRef& ref) {
    const Share& share = ShareAt(site);
    const size_t iterations = IterationsOf(module_, site).size();
    const size_t indices = share.pushed_by->indices.size();
    std::vector<SymbolId> others;
    for (size_t i = indices - std::min(indices, iterations); i < share.axes.size(); ++i) {
      others.push_back(share.axes[i].var);
    }
    if (!IsPlain(site, ref)) {
      Wrong(ref.range,
            "a push arrives at one element of a trigger, in its own iteration of the repeats "
            "around it");
    } else if (Mentions(module_, ref, others)) {
      Wrong(ref.range, fmt::format("a push arrives where the indices of `%{}` say, not where the "
                                   "tasks that it pushes do",
                                   EventOf(*share.pushed_by).name));
    }
  }

  const Module& module_;
  DimRanges ranges_;
  Diagnostics& diagnostics_;
  std::map<EventId, NodeId> pushed_by_;  // the case that a trigger pushes
  std::set<NodeId> pushes_;              // cases that are pushed
};

}  // namespace

void CheckQueues(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  QueueChecks(module, kernel, diagnostics).Run(kernel);
}

}  // namespace etc
