// The events of a graph that has none, from what its tasks read and write.
//
// Dependences are looked at from near to far, and one that the events so far put in order gets
// none: so a chain of calls gets one event for each link. Every event is tried against the order
// that it makes, the smallest wait first, and the last one tried is always right: all tasks before
// all tasks.
#include "schedule/derivation.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analysis/proofs/body_proofs.h"
#include "schedule/computed_tables.h"
#include "schedule/iteration_choices.h"
#include "schedule/wait_design.h"

namespace etc {
namespace {

/// The most iterations that a task waits for one by one, besides the nearest one.
constexpr int kMostFartherOnes = 3;

}  // namespace

class Derivation {
 public:
  Derivation(Module& module, std::vector<CallProgram> programs, const ScheduleOptions& options,
             TensorsOfCalls behind_waits, TensorsOfCalls at_peers)
      : module_(module),
        programs_(std::move(programs)),
        program_(programs_.front()),
        behind_waits_(std::move(behind_waits)),
        peers_(program_, std::move(at_peers)),
        plan_(module, programs_),
        coarse_(Coarse(options.target->sms)),
        dependences_(module, programs_, coarse_, options.bodies != nullptr),
        waits_(module, programs_, plan_, dependences_, coarse_) {}

  EventPlan& Run() {
    Block(0, program_.calls.size(), 0);
    return plan_;
  }

  /// The programs keep their places. Their events are those of the plan, which ends first.
  void HandOn(DerivedBodies& bodies) {
    for (CallProgram& program : programs_) {
      for (ProgramCall& call : program.calls) {
        call.waits.clear();
        call.notifies.clear();
      }
    }
    bodies.Put(std::move(programs_), dependences_.Bodies());
  }

  void Remark(const Graph& graph, Diagnostics& diagnostics) const {
    if (found_ > 0) {
      diagnostics.Remark(
          DiagnosticKind::DerivedEvent, graph.range,
          fmt::format("dependences between calls of `@{}`: {}, of which {} follow from the others",
                      graph.name, found_, implied_));
    }
  }

 private:
  /// The dependences between the calls of one iteration of the `repeats` repeats around them, then
  /// those on earlier iterations of the innermost of these.
  void Block(size_t begin, size_t end, size_t repeats) {
    for (size_t item = begin; item < end;) {
      size_t next = item + 1;
      if (program_.calls[item].repeats.size() > repeats) {
        while (next < end && CommonRepeats(program_.calls[item], program_.calls[next]) > repeats) {
          ++next;
        }
        Block(item, next, repeats + 1);
      }
      for (size_t to = item; to < next; ++to) {
        for (size_t from = item; from-- > begin;) {
          Order({from, to, repeats});
        }
      }
      item = next;
    }
    if (repeats == 0) {
      return;
    }
    // The calls of a ring of buffers order each other: what one waits for suffices once the others
    // have their waits.
    std::vector<PlannedEvent> before = plan_.events;
    std::pair remarked{found_, implied_};
    left_open_.clear();
    OrderIterations(begin, end, repeats, true);
    bool closed = std::all_of(left_open_.begin(), left_open_.end(),
                              [&](const Dependence& each) { return dependences_.IsOrdered(each); });
    if (!closed) {
      plan_.events = std::move(before);
      std::tie(found_, implied_) = remarked;
      ApplyEvents();
      OrderIterations(begin, end, repeats, false);
    }
  }

  /// The dependences on earlier iterations of the innermost of the `repeats` repeats. `in_ring`:
  /// what waits for the nearest iteration do not put in order is left open.
  void OrderIterations(size_t begin, size_t end, size_t repeats, bool in_ring) {
    for (size_t to = begin; to < end; ++to) {
      for (size_t from = end; from-- > begin;) {
        Order({from, to, repeats - 1, true}, in_ring);
      }
    }
  }

  void Order(const Dependence& dependence, bool in_ring = false) {
    if (!dependences_.Exists(dependence)) {
      return;
    }
    ++found_;
    if (dependences_.IsOrdered(dependence) && !peers_.IsUnreceived(dependence, plan_)) {
      ++implied_;
      WaitInLoader(dependence);
      return;
    }
    if (JoinInitial(dependence)) {
      return;
    }
    std::optional<std::vector<PlannedEvent>> nearest;
    for (const Iterations& iterations : IterationChoices(program_, dependences_, dependence)) {
      std::vector<Needs> parts = NeedsOf(dependence, iterations);
      if (parts.empty()) {
        continue;
      }
      if (OrderByData(dependence, iterations)) {
        return;
      }
      for (bool split : Splits(dependence)) {
        std::vector<PlannedEvent> before = plan_.events;
        AddParts(dependence, iterations, parts, split);
        if (!nearest && iterations.distance > 0) {
          nearest = plan_.events;
        }
        if (IsOrdered(dependence) || OrderFartherOnes(dependence, iterations, split)) {
          return;
        }
        plan_.events = std::move(before);
      }
      if (in_ring && nearest) {
        plan_.events = std::move(*nearest);
        ApplyEvents();
        left_open_.push_back(dependence);
        return;
      }
    }
    waits_.Add(dependence, {}, waits_.OfAll(dependence, peers_.IsOnOneRank(dependence)), false);
    (void)IsOrdered(dependence);
  }

  /// The calls of which no event will tell the tasks apart: those of more than two waves.
  std::vector<bool> Coarse(int64_t sms) const {
    std::vector<bool> coarse;
    for (const ProgramCall& call : program_.calls) {
      coarse.push_back(!plan_.HasAtMost(call.index, 2 * sms));
    }
    return coarse;
  }

  std::vector<Needs> NeedsOf(const Dependence& dependence, const Iterations& iterations) {
    bool on_one = peers_.IsOnOneRank(dependence);
    bool coarse = coarse_[dependence.from] && (on_one || !peers_.ForRanks());
    std::vector<Needs> parts = dependences_.NeedsOf(dependence, iterations, coarse);
    if (on_one) {
      std::for_each(parts.begin(), parts.end(), WaitDesign::StayOnRank);
    }
    return parts;
  }

  /// A loader follows its own waits only, not those that others do before its consumers': what it
  /// reads it waits for as another call of the iteration does, else for all of it.
  void WaitInLoader(const Dependence& dependence) {
    const ProgramCall& to = program_.calls[dependence.to];
    const std::vector<Argument> written = WrittenBy(program_.calls[dependence.from]);
    bool by_loader = std::any_of(written.begin(), written.end(), [&](const Argument& arg) {
      return behind_waits_[dependence.to].contains(arg.tensor);
    });
    if (!by_loader || dependence.carried) {
      return;
    }
    for (PlannedEvent& planned : plan_.events) {
      bool whole = planned.from == dependence.from && IsOfAllTasks(planned);
      auto same = std::find_if(planned.waits.begin(), planned.waits.end(), [&](const auto& wait) {
        const ProgramCall& other = program_.calls[wait.call];
        return CommonRepeats(other, to) == to.repeats.size() &&
               other.repeats.size() == to.repeats.size() && !wait.from_initial && !wait.guard &&
               !wait.first_only;
      });
      if (whole && same != planned.waits.end()) {
        PlannedWait wait = *same;
        wait.call = dependence.to;
        wait.why = waits_.Why(dependence);
        planned.waits.push_back(std::move(wait));
        ApplyEvents();
        return;
      }
    }
    waits_.Add(dependence, {}, waits_.OfAll(dependence, peers_.IsOnOneRank(dependence)), false);
    ApplyEvents();
  }

  std::vector<Argument> WrittenBy(const ProgramCall& call) const {
    std::vector<Argument> written;
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (module_.tensors[call.device->params[i]].access != Access::In) {
        written.push_back(call.args[i]);
      }
    }
    return written;
  }

  /// Where data say which tasks a reader needs, and it can read which: from inputs, or from tables
  /// that the launch computes. Whoever names an element by such a table waits for all of it first.
  bool OrderByData(const Dependence& dependence, const Iterations& iterations) {
    auto found = dependences_.NeedsInData(dependence, iterations);
    if (!found) {
      return false;
    }
    std::vector<PlannedEvent> before = plan_.events;
    auto waits = [&](const std::set<TensorId>& tables, size_t call) {
      return std::all_of(tables.begin(), tables.end(),
                         [&](TensorId table) { return WaitForTable(table, call); });
    };
    if (waits(ComputedTablesIn(module_, found->keys), dependence.from) &&
        waits(ComputedTablesIn(module_, found->needs), dependence.to)) {
      waits_.Add(dependence, iterations, found->needs, true, found->keys);
      if (IsOrdered(dependence)) {
        return true;
      }
    }
    plan_.events = std::move(before);
    return false;
  }

  /// Lets all tasks of a call wait for all that fills a table.
  bool WaitForTable(TensorId table, size_t reader) {
    const ProgramCall* writer = WriterOfTable(module_, program_, table, reader);
    if (writer == nullptr) {
      return false;
    }
    Dependence filled{writer->index, reader, writer->repeats.size()};
    if (!dependences_.Exists(filled)) {
      return false;
    }
    // One wait for all of it is enough: of its own iteration nothing else is waited for.
    auto is_for_own = [&](const PlannedWait& wait) {
      return wait.call == reader && !wait.first_only &&
             std::all_of(
                 wait.iterations.begin(), wait.iterations.end(),
                 [](const IterationWait& each) { return each.kind == IterationWait::Kind::Same; });
    };
    for (PlannedEvent& planned : plan_.events) {
      if (planned.from == writer->index) {
        std::erase_if(planned.waits, is_for_own);
      }
    }
    waits_.Add(filled, {}, waits_.OfAll(filled, peers_.IsOnOneRank(filled)), false);
    std::erase_if(plan_.events, [](const PlannedEvent& planned) { return planned.waits.empty(); });
    return true;
  }

  /// Whether its elements tell no tasks of one rank apart.
  static bool IsOfAllTasks(const PlannedEvent& planned) {
    for (size_t i = 0; i < planned.grains.size(); ++i) {
      if (planned.grains[i] != 0 && i != planned.rank) {
        return false;
      }
    }
    return true;
  }

  /// What the wait for the nearest iteration that has a conflict does not put in order, may be of a
  /// few others: a place in a ring of buffers that two iterations read, or several rings.
  bool OrderFartherOnes(const Dependence& dependence, Iterations iterations, bool split) {
    for (int more = 0; iterations.distance > 0 && more < kMostFartherOnes; ++more) {
      auto distance = dependences_.OpenDistance(dependence);
      if (!distance || *distance <= iterations.distance) {
        return false;
      }
      iterations.distance = *distance;
      std::vector<Needs> parts = NeedsOf(dependence, iterations);
      if (parts.empty()) {
        return false;
      }
      AddParts(dependence, iterations, parts, split);
      if (IsOrdered(dependence)) {
        return true;
      }
    }
    return false;
  }

  /// Whether to try events that tell tasks apart. A reader behind a repeat uses what the repeat
  /// already notifies: another event would be signalled in each iteration for the last one alone.
  std::vector<bool> Splits(const Dependence& dependence) const {
    bool leaves = program_.calls[dependence.from].repeats.size() > dependence.Related();
    bool has_whole =
        std::any_of(plan_.events.begin(), plan_.events.end(), [&](const PlannedEvent& planned) {
          return planned.from == dependence.from && IsOfAllTasks(planned);
        });
    return leaves && has_whole ? std::vector{false} : std::vector{true, false};
  }

  void ApplyEvents() {
    plan_.Apply();
    dependences_.EventsChanged();
  }

  bool IsOrdered(const Dependence& dependence) {
    ApplyEvents();
    return dependences_.IsOrdered(dependence);
  }

  void AddParts(const Dependence& dependence, const Iterations& iterations,
                const std::vector<Needs>& parts, bool split) {
    for (const Needs& needs : parts) {
      waits_.Add(dependence, iterations, needs, split);
    }
  }

  /// Lets what a call before a repeat writes count as that of the iteration before the first, where
  /// the repeat already waits for that: one wait instead of two with conditions.
  bool JoinInitial(const Dependence& dependence) {
    const ProgramCall& from = program_.calls[dependence.from];
    if (dependence.carried || from.repeats.size() > dependence.repeats) {
      return false;
    }
    bool tried = false;
    for (size_t i = 0; i < plan_.events.size(); ++i) {
      PlannedEvent& planned = plan_.events[i];
      auto joins = [&](const PlannedWait& wait) {
        return wait.call == dependence.to && WaitsForPrevious(wait, dependence.repeats);
      };
      if ((!planned.initial && std::ranges::none_of(planned.waits, joins)) ||
          !IsOfAllTasks(planned) || (planned.initial && planned.initial != dependence.from) ||
          plan_.IsCountedInSlice(planned.from) || (peers_.ForRanks() && !planned.rank)) {
        continue;
      }
      std::vector<PlannedEvent> before = plan_.events;
      for (PlannedWait& wait : planned.waits) {
        if (joins(wait)) {
          planned.initial = dependence.from;
          wait.from_initial = true;
        }
      }
      tried = tried || planned.initial;
      if (planned.initial && IsOrdered(dependence)) {
        return true;
      }
      plan_.events = std::move(before);
    }
    if (tried) {
      ApplyEvents();
    }
    return false;
  }

  /// Whether the wait is for the iteration before its own of the one repeat inside of `repeats`.
  static bool WaitsForPrevious(const PlannedWait& wait, size_t repeats) {
    return wait.iterations.size() == repeats + 1 &&
           wait.iterations.back().kind == IterationWait::Kind::Earlier &&
           wait.iterations.back().distance == 1 && !wait.guard && !wait.first_only;
  }

  Module& module_;
  std::vector<CallProgram> programs_;
  const CallProgram& program_;  // the first: they differ in the sizes alone
  const TensorsOfCalls behind_waits_;
  const PeerWrites peers_;
  EventPlan plan_;
  const std::vector<bool> coarse_;
  RangeDependences dependences_;
  WaitDesign waits_;
  int64_t found_ = 0;
  int64_t implied_ = 0;
  std::vector<Dependence> left_open_;
};

DerivedEvents::DerivedEvents(Module& module, std::vector<CallProgram> programs,
                             const ScheduleOptions& options, TensorsOfCalls behind_waits,
                             TensorsOfCalls at_peers)
    : derivation_(std::make_unique<Derivation>(module, std::move(programs), options,
                                               std::move(behind_waits), std::move(at_peers))),
      plan_(derivation_->Run()) {}

DerivedEvents::~DerivedEvents() = default;

void DerivedEvents::HandOn(DerivedBodies& bodies) { derivation_->HandOn(bodies); }

void DerivedEvents::Remark(const Graph& graph, Diagnostics& diagnostics) const {
  derivation_->Remark(graph, diagnostics);
}

}  // namespace etc
