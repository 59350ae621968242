#include "simulator/expand_kernel.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/loader_reads.h"
#include "ir/peers.h"
#include "ir/queue.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "simulator/play_signals.h"
#include "simulator/prepared_share.h"
#include "simulator/step_costs.h"

namespace etc {
namespace {

/// Rounds of a long repeat that are played: some until each is like the one before it, and the last
/// one, which what follows waits for.
constexpr int64_t kRoundsBefore = 3;

class Expander {
 public:
  Expander(const Module& module, const Kernel& kernel, const Env& dims, const Target& target,
           const std::vector<CallCost>& calls, Edges edges, Grain grain)
      : module_(module),
        kernel_(kernel),
        target_(target),
        calls_(calls),
        edges_(edges),
        grain_(grain),
        sizes_{dims, RangesOf(module, kernel)},
        signals_(module, target, RanksAt(module, dims), play_.program) {
    play_.program.machine = MachineOf(kernel, target);
    for (const ShareSite& site : SharesOf(module, kernel)) {
      if (site.dispatch) {
        const auto& dispatch = std::get<Dispatch>(module.nodes[site.dispatch]);
        cases_[site.share] = {dispatch.ahead, bool{dispatch.capacity},
                              site.share == dispatch.cases.front()};
      }
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      for (const Loop& loop : calls[i].loops) {
        slots_.Of(std::get<Repeat>(module.nodes[loop.repeat]).var);
      }
      prepared_.push_back(Prepare(calls[i]));
    }
  }

  KernelPlay Run() {
    Rounds(0, calls_.size(), 0, 1);
    return std::move(play_);
  }

 private:
  struct CaseOf {
    int64_t ahead = 0;
    bool queued = false;
    bool is_first = false;  // of its dispatch
  };

  PreparedShare Prepare(const CallCost& call) {
    const auto& share = std::get<Share>(module_.nodes[call.share]);
    for (const Axis& axis : share.axes) {
      slots_.Of(axis.var);
    }
    auto mine = cases_.find(call.share);
    std::vector<EventRef>& pushed_by = pushed_by_[call.share];
    if (share.pushed_by && pushed_by.empty()) {
      pushed_by.push_back(*share.pushed_by);
    }
    return {
        module_,   share,  mine == cases_.end() ? std::nullopt : std::optional(mine->second.ahead),
        pushed_by, sizes_, slots_};
  }

  /// Calls that have `depth` loops around them in common.
  void Rounds(size_t begin, size_t end, size_t depth, double weight) {
    while (begin < end) {
      if (calls_[begin].loops.size() == depth) {
        Expand(begin++, weight);
        continue;
      }
      const Loop& loop = calls_[begin].loops[depth];
      size_t last = begin + 1;
      while (last < end && calls_[last].loops.size() > depth &&
             calls_[last].loops[depth].repeat == loop.repeat) {
        ++last;
      }
      const auto& repeat = std::get<Repeat>(module_.nodes[loop.repeat]);
      int64_t lo = EvaluateInt(module_, repeat.lo, sizes_.dims, sizes_.ranges).value_or(0);
      size_t slot = slots_.Of(repeat.var);
      // SMs take tasks of later rounds while they run those of earlier ones, so no round of a case
      // stands for others.
      bool draws = std::any_of(prepared_.begin() + static_cast<std::ptrdiff_t>(begin),
                               prepared_.begin() + static_cast<std::ptrdiff_t>(last),
                               [](const PreparedShare& one) { return one.ahead.has_value(); });
      bool all = grain_ == Grain::Tasks || draws || loop.rounds <= kRoundsBefore + 1;
      for (int64_t round = 0; round < loop.rounds; ++round) {
        bool stands_for_more = !all && round == kRoundsBefore - 1;
        slots_[slot] = lo + round;
        double times = stands_for_more ? static_cast<double>(loop.rounds - kRoundsBefore) : 1;
        Rounds(begin, last, depth + 1, weight * times);
        if (stands_for_more) {
          round = loop.rounds - 2;
        }
      }
      begin = last;
    }
  }

  /// One share in the round that the variables say.
  void Expand(size_t index, double weight) {
    const CallCost& call = calls_[index];
    auto mine = cases_.find(call.share);
    if (mine != cases_.end() && mine->second.is_first) {
      ++queue_;
    }
    if (call.tasks == 0) {
      return;
    }
    const PreparedShare& prepared = prepared_[index];
    auto step_id = static_cast<uint32_t>(play_.program.steps.size());
    SimStep step = StepOf(module_, kernel_, call, target_);
    step.call = index;
    step.iteration = rounds_[index]++;
    step.ahead = prepared.ahead;
    if (mine != cases_.end() && mine->second.queued) {
      step.queue = queue_;
      step.pushed = !prepared.pushed_by.IsEmpty();
    }
    play_.program.steps.push_back(step);
    play_.weights.push_back(weight);

    size_t first_task = play_.program.tasks.size();
    AddTasks(call, prepared, step_id);
    SetWaits(prepared, first_task);
    signals_.AddStep(first_task);
    std::vector<uint32_t> joins;
    std::vector<uint32_t> waits = SharedWaits(call, prepared, step_id, joins);
    for (size_t i = first_task; i < play_.program.tasks.size(); ++i) {
      SimTask& task = play_.program.tasks[i];
      task.waits.insert(task.waits.end(), waits.begin(), waits.end());
      task.joins = joins;
    }
    SetNotifies(prepared, first_task);
    SetPushes(prepared, first_task);
    Written(prepared, step_id);
    if (kernel_.schedule == ScheduleKind::Kernels) {
      // The first one begins as a kernel of all calls does.
      play_.program.steps[step_id].launched = launch_before_.has_value();
      launch_before_ = step_id;
    }
  }

  void AddTasks(const CallCost& call, const PreparedShare& prepared, uint32_t step) {
    int64_t sms = target_.sms;
    int64_t first = prepared.first.Evaluate(slots_).value_or(0) % sms;
    std::vector<SimTask>& tasks = play_.program.tasks;
    // Who draws how many tasks only shows task by task.
    bool one_each = grain_ == Grain::Tasks || prepared.ahead;
    int64_t count = one_each ? call.tasks : std::min(call.tasks, sms);
    int64_t iteration = play_.program.steps[step].iteration;
    SimWork alike = WorkOfTask(call, iteration, 0, target_);
    auto of_sm = [&](int64_t all, int64_t t) {
      return std::max<int64_t>((all - t + count - 1) / count, 0);
    };
    for (int64_t t = 0; t < count; ++t) {
      SimTask task{.step = step, .sm = static_cast<uint32_t>((first + t) % sms), .first = t};
      task.tasks = of_sm(call.tasks, t);
      if (!call.listed) {
        task.work = alike * static_cast<double>(of_sm(call.working_tasks, t));
      } else {
        for (int64_t one = t; one < call.tasks; one += count) {
          task.work += WorkOfTask(call, iteration, one, target_);
        }
      }
      tasks.push_back(std::move(task));
    }
  }

  /// What each task waits for by events of its own.
  void SetWaits(const PreparedShare& prepared, size_t begin) {
    SetElements(prepared, prepared.waits, begin,
                [&](SimTask& task, EventId event, int64_t element) {
                  Add(task.waits, signals_.Awaited(event, element));
                });
    for (size_t i = begin; i < play_.program.tasks.size(); ++i) {
      KeepOnce(play_.program.tasks[i].waits);
    }
  }

  /// What it notifies, and what an SM notifies when it leaves: its last task, for all of them. Of
  /// tasks that are drawn each may be the last one of its SM.
  void SetNotifies(const PreparedShare& prepared, size_t begin) {
    SetElements(prepared, prepared.notifies, begin,
                [&](SimTask& task, EventId event, int64_t element) {
                  Add(task.notifies, signals_.Notified(event, element));
                });
    std::vector<SimTask>& tasks = play_.program.tasks;
    auto sms = static_cast<size_t>(target_.sms);
    size_t last = !prepared.ahead && tasks.size() - begin > sms ? tasks.size() - sms : begin;
    prepared.leave_notifies.Visit(slots_, [&](EventId event, int64_t element) {
      uint32_t signal = signals_.Notified(event, element);
      for (size_t i = last; i < tasks.size(); ++i) {
        Add(tasks[i].notifies, signal);
      }
    });
    for (size_t i = begin; i < tasks.size(); ++i) {
      KeepOnce(tasks[i].notifies);
    }
  }

  /// Where the tasks arrive, and which elements push them: each those of some that follow each
  /// other.
  void SetPushes(const PreparedShare& prepared, size_t begin) {
    std::vector<SimTrigger>& triggers = play_.program.triggers;
    auto arrive = [&](SimTask& task, EventId event, int64_t element) {
      auto [found, is_new] = triggers_.try_emplace({event, element}, triggers.size());
      if (is_new) {
        triggers.emplace_back();
      }
      ++triggers[found->second].count;
      task.arrivals.push_back(found->second);
    };
    if (ArriveByPush(module_, *prepared.share)) {
      SetDataPushes(prepared, begin, arrive);
      return;
    }
    SetElements(prepared, prepared.arrivals, begin, arrive);
    SetElements(prepared, prepared.after_arrivals, begin, arrive);
    if (prepared.after_arrivals.DependsOnData()) {
      ArriveEverywhere(prepared, arrive);
    }
    SetElements(prepared, prepared.pushed_by, begin,
                [&](SimTask& task, EventId event, int64_t element) {
                  SimTrigger& trigger = triggers[triggers_.at({event, element})];
                  if (trigger.tasks++ == 0) {
                    trigger.first = static_cast<uint32_t>(&task - play_.program.tasks.data());
                  }
                });
  }

  /// Where data say at which elements tasks arrive, the last of them stands for all, at each.
  template <class F>
  void ArriveEverywhere(const PreparedShare& prepared, const F& arrive) {
    for (const EventRef& ref : prepared.share->after_arrivals) {
      if (!ReadsTensor(module_, ref)) {
        continue;
      }
      std::vector<EventRef> all{ref};
      all.front().axes.clear();
      all.front().guard = {};
      for (EventIndex& index : all.front().indices) {
        std::vector<SymbolId> vars;
        for (const auto* axes : {&prepared.share->axes, &ref.axes}) {
          for (const Axis& axis : *axes) {
            vars.push_back(axis.var);
          }
        }
        bool iteration = !ReadsTensor(module_, index.lo) && !Mentions(module_, index.lo, vars);
        index = iteration ? index : EventIndex{{}, {}, true};
      }
      EventElements(module_, all, sizes_, slots_)
          .Visit(slots_, [&](EventId event, int64_t element) {
            arrive(play_.program.tasks.back(), event, element);
          });
    }
  }

  /// Of tasks whose number data decide: each element pushes as many, and the first of them arrives
  /// where a push does.
  template <class F>
  void SetDataPushes(const PreparedShare& prepared, size_t begin, const F& arrive) {
    std::vector<SimTask>& tasks = play_.program.tasks;
    size_t elements = 0;
    auto each_element = [&](const auto& visit) {
      elements = 0;
      std::pair<EventId, int64_t> last;
      prepared.EachTask(slots_, [&] {
        prepared.pushed_by.Visit(slots_, [&](EventId event, int64_t element) {
          if (elements == 0 || last != std::pair(event, element)) {
            last = {event, element};
            visit(elements++, last);
          }
        });
      });
    };
    each_element([](size_t, const auto&) {});
    const size_t all = elements, count = tasks.size() - begin;
    each_element([&](size_t number, const std::pair<EventId, int64_t>& element) {
      SimTrigger& trigger = play_.program.triggers[triggers_.at(element)];
      size_t first = begin + number * count / all;
      trigger.first = static_cast<uint32_t>(first);
      trigger.tasks = static_cast<uint32_t>(begin + (number + 1) * count / all - first);
      if (trigger.tasks > 0) {
        prepared.arrivals.Visit(
            slots_, [&](EventId event, int64_t at) { arrive(tasks[first], event, at); });
      }
    });
  }

  template <class F>
  void SetElements(const PreparedShare& prepared, const EventElements& elements, size_t begin,
                   const F& on_element) {
    std::vector<SimTask>& tasks = play_.program.tasks;
    if (!elements.VariesWith(module_, prepared.share->axes)) {
      elements.Visit(slots_, [&](EventId event, int64_t element) {
        for (size_t i = begin; i < tasks.size(); ++i) {
          on_element(tasks[i], event, element);
        }
      });
      return;
    }
    size_t number = 0;
    prepared.EachTask(slots_, [&] {
      SimTask& task = tasks[begin + number++ % (tasks.size() - begin)];
      elements.Visit(slots_,
                     [&](EventId event, int64_t element) { on_element(task, event, element); });
    });
  }

  /// Whether both calls work on parts of one tensor that is streamed: what one has found, the other
  /// takes up when its own part is done.
  bool ArePartsOfOne(size_t a, size_t b) const {
    return calls_[a].repeat == calls_[b].repeat &&
           std::any_of(calls_[a].streams.begin(), calls_[a].streams.end(),
                       [&](TensorId tensor) { return calls_[b].streams.contains(tensor); });
  }

  /// What all tasks of a share wait for, to begin and to end.
  std::vector<uint32_t> SharedWaits(const CallCost& call, const PreparedShare& prepared,
                                    uint32_t step, std::vector<uint32_t>& joins) {
    std::vector<uint32_t> waits;
    if (launch_before_) {
      AddOnce(waits, signals_.EndOf(*launch_before_, target_.launch_signal));
    }
    auto add = [&](EventId event, int64_t element) {
      AddOnce(waits, signals_.Awaited(event, element));
    };
    prepared.range_waits.Visit(slots_, add);
    if (!waits.empty() && !prepared.range_waits.IsEmpty()) {
      play_.program.steps[step].loads_behind = waits.back();
      play_.program.steps[step].draws_behind = waits.back();
    }
    prepared.enter_waits.Visit(slots_, add);
    for (size_t i = 0; i < prepared.share->args.size(); ++i) {
      const Argument& argument = prepared.share->args[i];
      auto edge = std::find_if(call.edges.begin(), call.edges.end(),
                               [&](const EdgeCost& one) { return one.tensor == argument.tensor; });
      bool by_data =
          edge != call.edges.end() && (edge->mechanism == Mechanism::FlagInData ||
                                       edges_ == Edges::Expected || prepared.DependsOnData());
      SliceWriters::Writers* writers =
          edge == call.edges.end() ? nullptr : writers_.Of(prepared.SliceOf(i, slots_));
      if (writers == nullptr) {
        continue;
      }
      writers->was_read = true;
      bool loader =
          IsReadBehindWait(module_, module_.devices[prepared.share->callee],
                           module_.devices[prepared.share->callee].params[i], argument.tensor);
      if (kernel_.schedule == ScheduleKind::Kernels) {
        // The loader of a launch waits for the end of the one before, too.
        if (loader && launch_before_) {
          play_.program.steps[step].loads_behind =
              signals_.EndOf(*launch_before_, target_.launch_signal);
        }
        continue;
      }
      if (!by_data) {
        continue;
      }
      for (uint32_t writer : writers->steps) {
        uint32_t signal =
            signals_.EndOf(writer, signals_.LatencyOf(edge->mechanism, edge->of_peers));
        bool at_end =
            ArePartsOfOne(play_.program.steps[writer].call, play_.program.steps[step].call);
        AddOnce(at_end ? joins : waits, signal);
        if (loader) {
          play_.program.steps[step].loads_behind = signal;
        }
      }
    }
    return waits;
  }

  void Written(const PreparedShare& prepared, uint32_t step) {
    const Device& callee = module_.devices[prepared.share->callee];
    for (size_t i = 0; i < prepared.share->args.size(); ++i) {
      if (module_.tensors[callee.params[i]].access != Access::In) {
        writers_.Add(prepared.SliceOf(i, slots_), step);
      }
    }
  }

  const Module& module_;
  const Kernel& kernel_;
  const Target& target_;
  const std::vector<CallCost>& calls_;
  const Edges edges_;
  const Grain grain_;
  const Sizes sizes_;
  Slots slots_;
  std::map<NodeId, CaseOf> cases_;
  std::map<NodeId, std::vector<EventRef>> pushed_by_;  // one, or none
  uint32_t queue_ = 0;  // the number of the dispatch that is expanded
  std::map<std::pair<EventId, int64_t>, uint32_t> triggers_;
  std::vector<PreparedShare> prepared_;
  std::map<size_t, int64_t> rounds_;  // of each call, so far
  SliceWriters writers_;
  std::optional<uint32_t> launch_before_;
  KernelPlay play_;
  PlaySignals signals_;
};

}  // namespace

KernelPlay ExpandKernel(const Module& module, const Kernel& kernel, const Env& dims,
                        const Target& target, const std::vector<CallCost>& calls, Edges edges,
                        Grain grain) {
  return Expander(module, kernel, dims, target, calls, edges, grain).Run();
}

}  // namespace etc
