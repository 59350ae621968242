#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/event_walk.h"
#include "analysis/program.h"
#include "analysis/samples.h"
#include "analysis/shapes.h"
#include "ir/evaluate.h"
#include "ir/task_count.h"
#include "verify/checks.h"
#include "verify/event_order.h"
#include "verify/wording.h"

namespace etc {
namespace {

/// Elements visited over all sizes of one program, and at least at its smallest sizes.
constexpr int64_t kBudget = 200'000;
constexpr int64_t kFirstBudget = 2'000'000;

class EventFlow {
 public:
  EventFlow(const Module& module, const CallProgram& program, Diagnostics& diagnostics)
      : module_(module), program_(program), diagnostics_(diagnostics) {}

  void Run(const std::vector<Sizes>& samples) {
    if (!Unused()) {
      return;
    }
    int64_t budget = kBudget;
    for (size_t i = 0; i < samples.size(); ++i) {
      int64_t mine = i == 0 ? kFirstBudget : budget;
      int64_t before = mine;
      if (!AtSizes(samples[i], mine)) {
        break;  // the sizes grow, so the rest would cost more
      }
      budget -= before - mine;
    }
  }

 private:
  struct Early {
    const TaskEdge* ref;
    size_t step;
    size_t event;
    int64_t element;
    size_t position;
  };

  /// An event that is only waited for is an error, one that is only notified a warning.
  bool Unused() {
    std::map<EventId, SourceRange> waited;
    std::set<EventId> notified;
    for (const ProgramCall& step : program_.calls) {
      for (const auto* waits : {&step.waits, &step.after_waits}) {
        for (const TaskEdge& ref : *waits) {
          waited.emplace(ref.ref->event, ref.range);
        }
      }
      for (const TaskEdge& ref : step.notifies) {
        notified.insert(ref.ref->event);
      }
    }
    bool ok = true;
    for (EventId id : program_.events) {
      const Event& event = module_.events[id];
      auto wait = waited.find(id);
      if (wait == waited.end()) {
        diagnostics_.Warning(DiagnosticKind::EventUnused, event.range,
                             event.trigger
                                 ? fmt::format("trigger `%{}` pushes nothing", event.name)
                                 : fmt::format("nothing waits for event `%{}`", event.name));
      } else if (!notified.contains(id)) {
        Diagnostic& error = diagnostics_.Error(
            DiagnosticKind::EventUnused, event.range,
            event.trigger
                ? fmt::format("trigger `%{}` pushes tasks, but nothing arrives at it", event.name)
                : fmt::format("event `%{}` is waited for, but nothing notifies it", event.name));
        error.notes.push_back(
            {wait->second, event.trigger ? "it pushes them here" : "it is waited for here"});
        if (!event.trigger) {
          ProposeNotify(id, error);
        }
        ok = false;
      }
    }
    return ok;
  }

  /// The one call of a graph that writes what a call reads which waits for the event, and that has
  /// as many tasks as this counts, or as many as this has elements that count one each.
  void ProposeNotify(EventId id, Diagnostic& error) const {
    if (program_.scheduled) {
      return;
    }
    const Event& event = module_.events[id];
    const ProgramCall* writer = nullptr;
    std::string why;
    for (const ProgramCall& reader : program_.calls) {
      bool waits = std::ranges::any_of(reader.waits,
                                       [&](const TaskEdge& edge) { return edge.ref->event == id; });
      for (const ProgramCall& call : program_.calls) {
        std::string tensor = waits && call.index < reader.index ? Handed(call, reader) : "";
        if (tensor.empty() || &call == writer || !IsNotifiedByAll(event, call)) {
          continue;
        }
        if (writer != nullptr) {
          return;
        }
        writer = &call;
        why = fmt::format("`@{}` writes `%{}` here, which `@{}` reads", call.device->name, tensor,
                          reader.device->name);
      }
    }
    if (writer == nullptr || !writer->notifies.empty()) {
      return;
    }
    std::vector<std::string> axes;
    for (const Axis& axis : writer->axes) {
      axes.push_back(module_.symbols[axis.var].name);
    }
    std::string element = event.dims.empty() ? "" : fmt::format("[{}]", axes.front());
    std::string notify =
        fmt::format("notify ({}) => %{}{}", fmt::join(axes, ", "), event.name, element);
    error.notes.push_back({writer->range, fmt::format("{}; add `{}`", why, notify)});
    error.fix = {{writer->range.end - 1, " " + notify}};
  }

  /// A tensor that one call writes and another one reads, or nothing.
  std::string Handed(const ProgramCall& writer, const ProgramCall& reader) const {
    for (size_t i = 0; i < writer.args.size(); ++i) {
      for (size_t j = 0; j < reader.args.size(); ++j) {
        if (writer.args[i].tensor == reader.args[j].tensor &&
            module_.tensors[writer.device->params[i]].access != Access::In &&
            module_.tensors[reader.device->params[j]].access != Access::Out) {
          return module_.tensors[writer.args[i].tensor].name;
        }
      }
    }
    return "";
  }

  bool IsNotifiedByAll(const Event& event, const ProgramCall& call) const {
    if (event.dims.empty()) {
      return IsTaskCount(event.count, call);
    }
    return event.dims.size() == 1 && call.axes.size() == 1 &&
           EvaluateInt(module_, event.count, {}) == 1 && IsTaskCount(event.dims[0].extent, call);
  }

  /// Whether the count is the number of the call's tasks: both are numbers, or one size.
  bool IsTaskCount(ExprId count, const ProgramCall& call) const {
    if (auto number = EvaluateInt(module_, count, {})) {
      return TaskCountAt(module_, call.axes, {}, {}, *number) == number;
    }
    if (call.axes.size() != 1) {
      return false;
    }
    const Axis& axis = call.axes.front();
    return (!axis.lo || EvaluateInt(module_, axis.lo, {}) == 0) &&
           SameSize(module_, axis.hi, count);
  }

  bool AtSizes(const Sizes& sizes, int64_t& budget) {
    EventWalk walk(module_, program_, sizes, budget);
    walk.on_outside = [&](const EventWalk::Outside& outside) { ReportOutside(outside, sizes); };
    std::vector<std::vector<int64_t>> counts;
    std::vector<std::vector<bool>> waited;
    for (const EventWalk::EventState& event : walk.events()) {
      counts.emplace_back(event.expected.size(), 0);
      waited.emplace_back(event.expected.size(), false);
    }
    std::map<std::pair<size_t, size_t>, Early> early;  // the first of each step and event
    size_t position = 0;
    bool complete = walk.Run([&](size_t step) {
      walk.Waits(step, [&](const EventWalk::Touch& touch) {
        waited[touch.event][touch.element] = true;
        int64_t expected = walk.events()[touch.event].expected[touch.element];
        if (counts[touch.event][touch.element] < expected) {
          early.try_emplace({step, touch.event},
                            Early{touch.ref, step, touch.event, touch.element, position});
        }
      });
      walk.Notifies(step, [&](const EventWalk::Touch& touch) {
        counts[touch.event][touch.element] += touch.times;
      });
      ++position;
    });
    if (!complete) {
      return false;
    }
    for (size_t e = 0; e < counts.size(); ++e) {
      const EventWalk::EventState& event = walk.events()[e];
      for (size_t i = 0; event.known && !event.outside && i < counts[e].size(); ++i) {
        bool used = waited[e][i] || counts[e][i] > 0;
        if (used && counts[e][i] != event.expected[i]) {
          ReportCount(sizes, walk, e, static_cast<int64_t>(i), counts[e][i]);
          break;
        }
      }
    }
    for (const auto& [key, wait] : early) {
      const EventWalk::EventState& event = walk.events()[wait.event];
      bool right = counts[wait.event][wait.element] == event.expected[wait.element];
      if (event.known && !event.outside && right && reported_steps_.insert(key).second) {
        ReportOrder(module_, program_, sizes, {wait.ref, wait.event, wait.element, wait.position},
                    diagnostics_);
      }
    }
    return true;
  }

  void ReportOutside(const EventWalk::Outside& outside, const Sizes& sizes) {
    if (!reported_refs_.insert(outside.ref).second) {
      return;
    }
    const Event& event = module_.events[outside.ref->ref->event];
    diagnostics_
        .Error(DiagnosticKind::EventRange, outside.ref->range,
               fmt::format("index {} of event `%{}` is {}, outside of 0 .. {}{}", outside.axis,
                           event.name, outside.index, outside.extent,
                           Describe(module_, sizes, outside.variables)))
        .notes.push_back(DeclaredHere(event));
  }

  static std::string PartText(const Event& event, const std::string& callee, bool waits,
                              int64_t times) {
    if (event.trigger) {
      return waits ? fmt::format("it pushes tasks of `@{}` here", callee)
                   : fmt::format("tasks of `@{}` arrive here", callee);
    }
    return waits ? fmt::format("`@{}` waits for it here", callee)
                 : fmt::format("`@{}` notifies it {} here", callee, Counted(times, "time"));
  }

  void ReportCount(const Sizes& sizes, const EventWalk& walk, size_t event, int64_t element,
                   int64_t got) {
    const Event& declared = module_.events[walk.events()[event].id];
    if (!reported_counts_.insert(event).second) {
      return;
    }
    int64_t expected = walk.events()[event].expected[element];
    std::string times = declared.trigger
                            ? Counted(got, "task") + (got == 1 ? " arrives" : " arrive")
                        : got == 0 ? "nothing notifies it"
                                   : "is notified " + Counted(got, "time");
    Diagnostic& error =
        diagnostics_.Error(DiagnosticKind::EventCount, declared.range,
                           fmt::format("`{}` counts {}, but {}{}", walk.Name(event, element),
                                       expected, times, Describe(module_, sizes)));
    // The calls involved: those that notify the element, or those that wait for it without end.
    std::map<const TaskEdge*, int64_t> parts;
    std::vector<std::pair<const TaskEdge*, size_t>> order;
    int64_t budget = kFirstBudget;
    EventWalk again(module_, program_, sizes, budget);
    (void)again.Run([&](size_t step) {
      auto add = [&](const EventWalk::Touch& touch) {
        if (touch.event == event && touch.element == element) {
          auto [part, is_new] = parts.emplace(touch.ref, 0);
          if (is_new) {
            order.emplace_back(touch.ref, step);
          }
          part->second += touch.times;
        }
      };
      if (got == 0) {
        again.Waits(step, add);
      } else {
        again.Notifies(step, add);
      }
    });
    for (const auto& [ref, step] : order) {
      const std::string& callee = program_.calls[step].device->name;
      error.notes.push_back({ref->range, PartText(declared, callee, got == 0, parts[ref])});
    }
  }

  const Module& module_;
  const CallProgram& program_;
  Diagnostics& diagnostics_;
  std::set<const TaskEdge*> reported_refs_;
  std::set<size_t> reported_counts_;
  std::set<std::pair<size_t, size_t>> reported_steps_;
};

}  // namespace

void CheckEventFlow(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  CallProgram program = MakeCallProgram(module, graph);
  EventFlow(module, program, diagnostics).Run(SampleSizes(module, graph));
}

void CheckEventFlow(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  CallProgram program = MakeCallProgram(module, kernel);
  EventFlow(module, program, diagnostics).Run(SampleSizes(module, kernel.where));
  CallProgram pushes = MakePushProgram(module, kernel);
  if (!pushes.events.empty()) {
    EventFlow(module, pushes, diagnostics).Run(SampleSizes(module, kernel.where));
  }
}

}  // namespace etc
