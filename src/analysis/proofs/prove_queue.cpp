// A queue gives out each of its tasks once. Its triggers count what has been given out as events
// count what is done: each counts its arrivals, and at least one, so each of its elements is
// complete once. The verifier sees that elements and the tasks that they push are one to one.
// Nobody waits for a task that is given out later, so of all tasks that have been given out and are
// not done the one that was first can go on. docs/dynamic.md has the whole argument.
#include "analysis/proofs/prove_queue.h"

#include <fmt/format.h>
#include <isl/point.h>

#include <algorithm>

#include "analysis/most_tasks.h"
#include "analysis/proofs/count_forms.h"
#include "analysis/same_elements.h"
#include "analysis/samples.h"
#include "analysis/sets/task_pairs.h"
#include "analysis/shapes.h"
#include "ir/queue.h"
#include "ir/rewrite.h"
#include "ir/task_count.h"

namespace etc {
namespace {

class QueueProof {
 public:
  QueueProof(Prover& prover, const EventRelations& relations, const std::set<EventId>& trusted,
             const Kernel& kernel)
      : prover_(prover),
        events_(relations),
        trusted_(trusted),
        kernel_(kernel),
        module_(prover.unknowns.module()),
        pushes_(MakePushProgram(module_, kernel)) {
    pushes_.sizes = prover.unknowns.program().sizes;
  }

  void Run() {
    Unknowns unknowns(module_, pushes_, prover_.context);
    Overlaps overlaps(unknowns);
    Prover prover = Of(unknowns, overlaps);
    EventRelations arrivals = MakeEventRelations(unknowns);
    for (const EdgeRelation& arrival : arrivals.notifies) {
      ProveEdge(prover, pushes_.calls[arrival.call], arrival);
    }
    right_ = ProveCounts(prover, arrivals);
    TaskOrder order(unknowns, arrivals, right_);
    TaskOrder possible(unknowns);
    ProveOrder(events_, order, possible);
    ProveAfter(order, possible);
    std::set<NodeId> proved;
    for (const ProgramCall& call : pushes_.calls) {
      if (call.pushed) {
        ProveCompletes(call);
        if (proved.insert(call.dispatch).second) {
          ProveCapacity(call.dispatch);
        }
      }
    }
  }

 private:
  /// The same proof about other unknowns.
  Prover Of(Unknowns& unknowns, Overlaps& overlaps) const {
    return {unknowns,        prover_.context,       overlaps,
            prover_.report,  prover_.diagnostics,   prover_.reported,
            prover_.remarks, prover_.sizes_may_tell};
  }

  /// What stands under `after`: what says where tasks arrive is written before it is read, and
  /// whoever waits there waits for what comes before, or for the task itself.
  void ProveAfter(TaskOrder& order, TaskOrder& possible) {
    if (std::all_of(pushes_.calls.begin(), pushes_.calls.end(), [&](const ProgramCall& call) {
          return ShareAt(call).after_arrivals.empty();
        })) {
      return;
    }
    CallProgram program = MakeArrivalProgram(module_, kernel_);
    program.sizes = pushes_.sizes;
    Unknowns unknowns(module_, program, prover_.context);
    Overlaps overlaps(unknowns);
    Prover of_arrivals = Of(unknowns, overlaps);
    EventRelations relations = MakeEventRelations(unknowns);
    TaskOrder events(unknowns, relations, trusted_);
    ProveArrivalReads(of_arrivals, events);
    EventRelations of_tasks = relations;
    std::erase_if(of_tasks.waits,
                  [&](const EdgeRelation& wait) { return program.calls[wait.call].arriving; });
    ProveCountsBeside(of_arrivals, relations, of_tasks);
    std::erase_if(relations.waits,
                  [&](const EdgeRelation& wait) { return !program.calls[wait.call].arriving; });
    for (const EdgeRelation& wait : relations.waits) {
      ProveEdge(of_arrivals, program.calls[wait.call], wait);
    }
    etc::ProveOrder(of_arrivals, relations);
    size_t arriving = 0;  // calls so far that the other programs do not have
    std::vector<size_t> places;
    for (const ProgramCall& call : program.calls) {
      arriving += call.arriving ? 1 : 0;
      places.push_back(call.index - arriving);
    }
    for (auto* edges : {&relations.waits, &relations.notifies}) {
      for (EdgeRelation& edge : *edges) {
        edge.call = places[edge.call];
      }
    }
    ProveOrder(relations, order, possible);
  }

  /// Whether each task arrives where it notifies, element for element, at what pushes the waiting
  /// task where that waits: data may decide which elements these are.
  bool ArrivesWhereItNotifies(const ProgramCall& notifier, const EventRef& notify,
                              const ProgramCall& waiter, const EventRef& wait) const {
    const EventRef& on = *ShareAt(waiter).pushed_by;
    const std::vector<EventRef>& after = ShareAt(notifier).after_arrivals;
    return right_.contains(on.event) && SameElements(module_, wait, on) &&
           std::any_of(after.begin(), after.end(), [&](const EventRef& arrival) {
             return arrival.event == on.event && SameElements(module_, notify, arrival);
           });
  }

  /// Whoever waits in a queue waits for what has been given out before. What is open by triggers
  /// whose counts are proved is refuted where it is open by all of them: at some sizes a wrong
  /// count may be right. Of `relations`, those under `after` may be for the task itself.
  void ProveOrder(const EventRelations& relations, TaskOrder& order, TaskOrder& possible) {
    const std::vector<ProgramCall>& calls = pushes_.calls;
    for (const EdgeRelation& wait : relations.waits) {
      for (const EdgeRelation& notify : relations.notifies) {
        const ProgramCall& waiter = calls[wait.call];
        const ProgramCall& notifier = calls[notify.call];
        if (notify.edge->ref->event != wait.edge->ref->event || !waiter.dispatch ||
            waiter.dispatch != notifier.dispatch || !notifier.pushed) {
          continue;  // what is there from the start comes before what is pushed
        }
        prover_.context.SetBudget();
        Map pairs(After(notify.elements, Map(isl_map_reverse(wait.elements.copy()))));
        pairs = InOneIteration(pairs, waiter.repeats.size());
        if (&relations != &events_ && waiter.index == notifier.index) {
          pairs = pairs - Map(isl_map_identity(isl_map_get_space(pairs.get())));
        }
        pairs = Pushed(pairs, isl_dim_in, notifier);
        pairs = Pushed(pairs, isl_dim_out, waiter);
        if (IsEmpty(pairs)) {
          continue;
        }
        if (waiter.pushed &&
            (ArrivesWhereItNotifies(notifier, *notify.edge->ref, waiter, *wait.edge->ref) ||
             order.Orders(notifier.index, waiter.index, pairs))) {
          ++prover_.report.order.proved;
          continue;
        }
        Map open = waiter.pushed ? possible.Unordered(notifier.index, waiter.index, pairs) : pairs;
        Report(waiter, notifier, wait, notify, open);
      }
    }
  }

  /// The pairs with elements of a trigger in the place of tasks, where these are pushed together.
  static Map Pushed(const Map& pairs, isl_dim_type tasks, const ProgramCall& call) {
    auto all = static_cast<unsigned>(isl_map_dim(pairs.get(), tasks));
    auto mine = static_cast<unsigned>(call.repeats.size() + call.axes.size());
    return Map(isl_map_project_out(pairs.copy(), tasks, mine, all - mine));
  }

  void Report(const ProgramCall& waiter, const ProgramCall& notifier, const EdgeRelation& wait,
              const EdgeRelation& notify, const Map& open) {
    const Unknowns& unknowns = prover_.unknowns;
    std::string what = fmt::format("`@{}` is given out after what notifies `%{}`",
                                   waiter.device->name, module_.events[wait.edge->ref->event].name);
    auto point = open && !IsEmpty(open) && wait.exact && notify.exact
                     ? FindWitness(unknowns, unknowns.Close(Set(isl_map_params(open.copy()))))
                     : std::nullopt;
    if (!point) {
      prover_.NotProved(prover_.report.order, DiagnosticKind::QueueProof, wait.edge->range, what,
                        ReasonOf(unknowns, wait.exact ? notify.set : wait.set));
      return;
    }
    auto [first, second] = TasksOf(open, *point, notifier, waiter);
    Diagnostic* error = prover_.Refuted(
        prover_.report.order, DiagnosticKind::QueueProof, wait.edge->range,
        waiter.pushed
            ? fmt::format("`{}` may be pushed before `{}` is given out, for which it waits{}",
                          second, first, WhereText(unknowns, *point, nullptr, 1))
            : fmt::format("`{}` is there from the start, but waits for `{}`, which is pushed{}",
                          second, first, WhereText(unknowns, *point, nullptr, 1)));
    if (error != nullptr) {
      error->notes.push_back(
          {notify.edge->range, fmt::format("`@{}` notifies `%{}` here", notifier.device->name,
                                           module_.events[wait.edge->ref->event].name)});
    }
  }

  /// One of the pairs at these sizes.
  std::pair<std::string, std::string> TasksOf(const Map& pairs, const Point& sizes,
                                              const ProgramCall& first,
                                              const ProgramCall& second) const {
    const Unknowns& unknowns = prover_.unknowns;
    Set there = unknowns.All();
    for (SymbolId dim : unknowns.dims()) {
      std::string name = unknowns.DimName(dim);
      if (auto value = sizes.find(name); value != sizes.end()) {
        there = there & Eq(unknowns.Param(name), unknowns.Constant(value->second));
      }
    }
    isl_map* some = isl_map_intersect_params(pairs.copy(), there.copy());
    isl_point* point = isl_set_sample_point(isl_set_lexmin(isl_map_wrap(some)));
    int at = 0;
    auto text = [&](const ProgramCall& call) {
      std::string values;
      for (size_t i = 0; i < call.repeats.size() + call.axes.size(); ++i, ++at) {
        auto value = ToInt(Val(isl_point_get_coordinate_val(point, isl_dim_set, at)));
        if (i >= call.repeats.size()) {
          values += fmt::format("{}{}", values.empty() ? "" : ", ", value.value_or(0));
        }
      }
      for (size_t i = call.axes.size(); i < ShareAt(call).axes.size(); ++i) {
        values += values.empty() ? "*" : ", *";  // of all tasks that are pushed together
      }
      return fmt::format("@{}[{}]", call.device->name, values);
    };
    std::string one = text(first);
    std::string other = text(second);
    isl_point_free(point);
    return {one, other};
  }

  const Share& ShareAt(const ProgramCall& call) const {
    return std::get<Share>(module_.nodes[call.node]);
  }

  /// Sizes at which `holds` says no, by what two expressions are there.
  template <class F>
  std::optional<std::string> WhereNot(const F& holds) const {
    for (const Sizes& sizes : SampleSizes(module_, kernel_.where)) {
      if (std::optional<std::string> message = holds(sizes)) {
        return *message + Describe(module_, sizes);
      }
    }
    return std::nullopt;
  }

  /// A trigger that counts nothing is never complete. Where pushes are counted, each element must
  /// be, whether it has tasks or not.
  void ProveCompletes(const ProgramCall& call) {
    const Share& share = ShareAt(call);
    std::vector<Axis> needed = share.axes;
    if (CountsPushes(module_, std::get<Dispatch>(module_.nodes[call.dispatch]))) {
      needed.resize(share.pushed_by->indices.size() - call.repeats.size());
    }
    const Event& trigger = module_.events[share.pushed_by->event];
    // An element of a tensor that is right for some arrivals is no less than nothing.
    int64_t least = 0;
    bool known = true;
    for (ExprId summand : SummandsOf(module_, trigger.count)) {
      auto bounds = Bounds(module_, summand, {}, pushes_.ranges);
      bool counted = std::holds_alternative<Load>(module_.exprs[summand]) &&
                     right_.contains(share.pushed_by->event);
      known = known && (bounds || counted);
      const int64_t lo = bounds ? bounds->lo : 0;
      least += counted ? std::max<int64_t>(lo, 0) : lo;
    }
    auto whole = Bounds(module_, trigger.count, {}, pushes_.ranges);
    if ((known && least >= 1) || (whole && whole->lo >= 1)) {
      ++prover_.report.counts.proved;
      return;
    }
    auto wrong = WhereNot([&](const Sizes& sizes) -> std::optional<std::string> {
      auto count = EvaluateInt(module_, trigger.count, sizes.dims, sizes.ranges);
      auto tasks = TaskCountAt(module_, needed, sizes.dims, sizes.ranges, 1);
      if (!count || *count >= 1 || !tasks || *tasks == 0) {
        return std::nullopt;
      }
      return fmt::format("`%{}` counts {}, so nothing pushes tasks of `@{}`", trigger.name, *count,
                         call.device->name);
    });
    SourceRange range = call.waits.front().range;
    if (wrong) {
      prover_.Refuted(prover_.report.counts, DiagnosticKind::QueueProof, range, *wrong);
    } else {
      prover_.NotProved(prover_.report.counts, DiagnosticKind::QueueProof, range,
                        fmt::format("`%{}` counts at least one arrival", trigger.name),
                        "its count has no known bounds");
    }
  }

  /// A place for each task that is pushed: then no place is used twice, whoever is slow. Of tasks
  /// whose number data decide, for as many as there may be.
  void ProveCapacity(NodeId id) {
    Module module = module_;  // sums are made in a copy
    const auto dispatch = std::get<Dispatch>(module.nodes[id]);
    ExprId tasks = MakeInt(module, 0);
    bool exact = true;
    const char* unknown = nullptr;
    for (NodeId each : dispatch.cases) {
      const Share share = std::get<Share>(module.nodes[each]);
      if (!share.pushed_by) {
        continue;
      }
      exact &= IsBox(module, share.axes);
      auto most = MostTasksOf(module, share, pushes_.ranges);
      if (!most) {
        unknown = "no bound of the number of tasks follows from what is asked of their ranges";
        break;
      }
      tasks = MakeAdd(module, tasks, *most);
    }
    auto left = Bounds(module, MakeSub(module, dispatch.capacity, tasks), {}, pushes_.ranges);
    if (unknown == nullptr &&
        (SameSize(module, dispatch.capacity, tasks, pushes_.ranges) || (left && left->lo >= 0))) {
      ++prover_.report.counts.proved;
      return;
    }
    auto wrong = WhereNot([&](const Sizes& sizes) -> std::optional<std::string> {
      auto places = EvaluateInt(module, dispatch.capacity, sizes.dims, sizes.ranges);
      auto pushed = EvaluateInt(module, tasks, sizes.dims, sizes.ranges);
      if (!places || !pushed || *pushed <= *places || unknown != nullptr) {
        return std::nullopt;
      }
      return fmt::format("{}{} task{} pushed, but the queue has {} place{}", exact ? "" : "up to ",
                         *pushed, *pushed == 1 ? " is" : "s are", *places, *places == 1 ? "" : "s");
    });
    SourceRange range = module_.RangeOf(dispatch.capacity);
    if (wrong && exact) {
      prover_.Refuted(prover_.report.counts, DiagnosticKind::QueueProof, range, *wrong);
    } else {
      prover_.NotProved(prover_.report.counts, DiagnosticKind::QueueProof, range,
                        "the queue has a place for each task that is pushed",
                        unknown != nullptr ? unknown
                        : wrong            ? *wrong
                                : "capacity and number of tasks are different expressions");
    }
  }

  Prover& prover_;
  const EventRelations& events_;
  const std::set<EventId>& trusted_;
  const Kernel& kernel_;
  const Module& module_;
  CallProgram pushes_;
  std::set<EventId> right_ = {};  // triggers whose counts are proved
};

}  // namespace

void ProveQueues(Prover& prover, const EventRelations& relations, const std::set<EventId>& trusted,
                 const Kernel& kernel) {
  QueueProof(prover, relations, trusted, kernel).Run();
}

}  // namespace etc
