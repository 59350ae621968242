// The decisions in a form to read.

#include <fmt/format.h>

#include "emit/raise/raise.h"
#include "ir/overloaded.h"
#include "ir/printer.h"

namespace etc {
namespace {

class Describer {
 public:
  explicit Describer(const RaisedKernel& raised) : raised_(raised), module_(raised.module) {}

  std::string Run() {
    Line(0, fmt::format("kernel @{} runs {}", raised_.kernel.name, Devices()));
    if (!raised_.dims.empty()) {
      std::string dims;
      for (SymbolId dim : raised_.dims) {
        dims += (dims.empty() ? "" : ", ") + module_.symbols[dim].name;
      }
      Line(1, "launch block with " + dims);
    }
    if (!raised_.launches.empty()) {
      Line(1, fmt::format("{} launches, in {} repeats at most", raised_.launches.size(),
                          raised_.iterations));
    }
    Parameters("flagged", raised_.flagged);
    Parameters("phased", raised_.phased);
    Parameters("computed in the launch", raised_.computed);
    if (raised_.cta_counters > 0) {
      Line(1, fmt::format("{} counters of an SM's own events from byte {} of shared memory on",
                          raised_.cta_counters, raised_.block_bytes));
    }
    if (raised_.flags_begin) {
      Line(1, fmt::format("flags from byte {} of {} on", *raised_.flags_begin,
                          raised_.symmetric_flags ? "symmetric memory" : "the workspace"));
    }
    for (const RaisedMap& map : raised_.maps) {
      Line(1, fmt::format("tensor map of %{}, boxes of {} x {}", module_.tensors[map.tensor].name,
                          map.rows, map.columns));
    }
    for (const RaisedDevice& device : raised_.devices) {
      Add(device);
    }
    for (const ShareSite& site : SharesOf(module_, raised_.kernel)) {
      if (auto share = raised_.shares.find(site.share); share != raised_.shares.end()) {
        Add(site.share, share->second);
      }
    }
    Divisions("divided in 32 bits", Division::Small);
    Divisions("divided in 64 bits", Division::Floor);
    Divisions("divided in 64 bits, perhaps by 0", Division::Total);
    Expressions("shifted by perhaps too many places", raised_.open_shifts);
    Expressions("literals", raised_.limits);
    Expressions("literals of 64 bits", raised_.doubles);
    return std::move(text_);
  }

 private:
  void Line(int depth, const std::string& text) {
    text_ += fmt::format("// {}{}\n", std::string(static_cast<size_t>(2 * depth), ' '), text);
  }

  std::string Devices() const {
    std::string text;
    for (const RaisedDevice& each : raised_.devices) {
      text += (text.empty() ? "@" : ", @") + each.device.name;
    }
    return text;
  }

  void Parameters(const char* what, const std::set<TensorId>& params) {
    std::string text;
    for (const RaisedDevice& each : raised_.devices) {
      for (TensorId param : each.device.params) {
        if (params.contains(param)) {
          text += fmt::format("{}%{} of @{}", text.empty() ? "" : ", ", module_.tensors[param].name,
                              each.device.name);
        }
      }
    }
    if (!text.empty()) {
      Line(1, fmt::format("{}: {}", what, text));
    }
  }

  void Add(const RaisedDevice& raised) {
    if (raised.steps) {
      Line(1, fmt::format("body of @{}, run by all consumer threads, {} bytes of scratch",
                          raised.device.name, raised.scratch_bytes));
      Add(2, *raised.steps);
    }
    Expressions(fmt::format("@{} checks", raised.device.name), raised.from_data);
  }

  void Add(int depth, const Steps& steps) {
    for (const Step& step : steps) {
      std::visit([&](const auto& each) { Add(depth, each); }, step.AsVariant());
    }
  }

  void Add(int depth, const BarrierStep&) { Line(depth, "barrier"); }
  void Add(int depth, const EachThread& each) { Line(depth, "each thread: " + Head(each.stmt)); }
  void Add(int depth, const SharedReduction& shared) {
    const Reduce& reduce = std::get<Reduce>(module_.exprs[shared.reduce]);
    Line(depth, fmt::format("reduction {}, divided: ({})", shared.number,
                            Axes(reduce.axes, 0, shared.flat)));
    if (shared.flat < reduce.axes.size()) {
      Line(depth + 1, fmt::format("for ({})", Axes(reduce.axes, shared.flat, reduce.axes.size())));
    }
  }
  void Add(int depth, const OneThread& one) { Line(depth, "one thread: " + Head(one.stmt)); }
  void Add(int depth, const Divided& divided) {
    const For& loop = std::get<For>(module_.stmts[divided.loop]);
    Line(depth, fmt::format("divided: for ({}){}", Axes(loop.axes, 0, divided.flat),
                            divided.barrier ? ", barrier behind the bounds" : ""));
    if (divided.flat < loop.axes.size()) {
      Line(depth + 1, fmt::format("for ({})", Axes(loop.axes, divided.flat, loop.axes.size())));
    }
  }
  void Add(int depth, const Together& together) {
    Line(depth, "together: " + Head(together.loop));
    Add(depth + 1, together.body);
  }
  void Add(int depth, const SameSide& side) {
    Line(depth, Head(side.branch));
    Add(depth + 1, side.body);
    if (!side.otherwise.empty()) {
      Line(depth, "else");
      Add(depth + 1, side.otherwise);
    }
  }
  void Add(int depth, const SharedLocal& local) {
    Line(depth, fmt::format("local %{} at {}", module_.tensors[local.tensor].name, local.offset));
  }

  /// A statement without what is inside.
  std::string Head(StmtId id) const {
    return std::visit(
        Overloaded{
            [&](const For& loop) {
              return fmt::format("{} ({})", loop.sequential ? "scan" : "for",
                                 Axes(loop.axes, 0, loop.axes.size()));
            },
            [&](const If& branch) {
              return fmt::format("if ({})", Print(module_, branch.condition));
            },
            [&](const Let& let) { return "let " + module_.symbols[let.symbol].name; },
            [&](const LetPair& pair) {
              return fmt::format("let ({}, {})", module_.symbols[pair.value].name,
                                 module_.symbols[pair.index].name);
            },
            [&](const LocalDecl& local) { return "local %" + module_.tensors[local.tensor].name; },
            [&](const Assign& assign) {
              return fmt::format("store to %{}", module_.tensors[assign.tensor].name);
            },
            [&](const TopK& topk) {
              return fmt::format("topk to %{}, %{}", module_.tensors[topk.values].name,
                                 module_.tensors[topk.positions].name);
            },
        },
        module_.stmts[id]);
  }

  void Add(NodeId id, const RaisedShare& raised) {
    const Share& share = raised.share;
    std::string axes = Axes(share.axes, 0, share.axes.size());
    const std::string& callee = module_.devices[share.callee].name;
    if (raised.tickets) {
      Line(1, fmt::format("case ({}), run @{}", axes, callee));
      if (raised.tickets->pushed) {
        Line(2, fmt::format("taken from a queue of {} places, {} ahead",
                            Print(module_, raised.tickets->capacity), raised.tickets->ahead));
      } else {
        Line(2, fmt::format("tickets from counter {}, {} ahead", Counter(*raised.tickets),
                            raised.tickets->ahead));
      }
      for (const RaisedArrival& arrival : raised.arrivals) {
        const Share& pushed = raised_.shares.at(arrival.pushes).share;
        Line(2, fmt::format("{} at {}, which pushes tasks of @{}",
                            raised.tickets->by_push ? "each push arrives" : "arrives",
                            Print(module_, arrival.ref), module_.devices[pushed.callee].name));
      }
      for (const RaisedArrival& arrival : raised.after_arrivals) {
        const Share& pushed = raised_.shares.at(arrival.pushes).share;
        Line(2, fmt::format("arrives later at {}, which pushes tasks of @{}",
                            Print(module_, arrival.ref), module_.devices[pushed.callee].name));
      }
    } else {
      Line(1,
           fmt::format("share ({}) from {}, run @{}", axes, Print(module_, share.first), callee));
    }
    if (raised.loops > 0) {
      Line(2, fmt::format("{} ({})", raised.by_value ? "values with tasks of" : "loops",
                          Axes(share.axes, 0, raised.loops)));
    }
    Line(2,
         fmt::format("box ({}), tasks numbered in {} bits",
                     Axes(share.axes, raised.loops, share.axes.size()), Bits(raised.coordinates)));
    if (!raised.tickets) {
      Line(2, fmt::format("first % sms in {} bits", Bits(raised.first)));
    }
    if (raised_.moves && !raised.tickets) {
      Line(2, "first behind the tasks that data gave to shares in front");
    }
    Line(2, raised.one_object ? "one object for all tasks" : "an object for each task");
    Line(2, fmt::format("{}, a barrier {}",
                        raised.prefetches ? "prefetches for the first task" : "no prefetch",
                        raised.enters_together ? "in front" : "in front where there is scratch"));
    if (raised.reads_ranges) {
      Line(2, "every SM waits before it reads the ranges of the tasks");
    }
    if (raised_.preloading.contains(id)) {
      Line(2, "the loader preloads" + (raised.throttle ? ", throttled" : std::string()));
    }
    for (size_t operand : raised.fetched) {
      Line(2, fmt::format("the loader waits for each task before it copies %{}",
                          module_.tensors[share.args[operand].tensor].name));
    }
    for (size_t operand : raised.behind_wait) {
      Line(2, fmt::format("the loader reads %{} behind its wait",
                          module_.tensors[share.args[operand].tensor].name));
    }
    for (const auto* signals : {&raised.range_waits, &raised.enter_waits, &raised.waits,
                                &raised.notifies, &raised.leave_notifies}) {
      for (const RaisedSignal& signal : *signals) {
        if (signal.one_thread || signal.checked || signal.one_fence) {
          Line(2, fmt::format("{}{}{}{}", Print(module_, signal.ref),
                              signal.one_thread ? " by the thread that waited" : "",
                              signal.checked ? ", checked" : "",
                              signal.one_fence ? ", behind one fence" : ""));
        }
      }
    }
  }

  /// Of the first iteration.
  std::string Counter(const RaisedTickets& tickets) const {
    std::string first = Print(module_, tickets.first);
    return tickets.place == 0 ? first : fmt::format("{} + {}", first, tickets.place);
  }

  static int Bits(Division division) { return division == Division::Small ? 32 : 64; }

  std::string Axes(const std::vector<Axis>& axes, size_t begin, size_t end) const {
    std::string text;
    for (size_t i = begin; i < end; ++i) {
      const Axis& axis = axes[i];
      text += fmt::format("{}{}: {}{}", i == begin ? "" : ", ", module_.symbols[axis.var].name,
                          axis.lo ? Print(module_, axis.lo) + " .. " : "", Print(module_, axis.hi));
    }
    return text;
  }

  void Divisions(const char* what, Division division) {
    std::set<ExprId> divided;
    for (const auto& [id, how] : raised_.divisions) {
      if (how == division) {
        divided.insert(id);
      }
    }
    Expressions(what, divided);
  }

  /// Each text once: the same expression may stand in many places.
  template <class Ids>
  void Expressions(const std::string& what, const Ids& ids) {
    std::set<std::string> seen;
    std::string text;
    for (const auto& entry : ids) {
      std::string expr = Print(module_, IdOf(entry));
      if (seen.insert(expr).second) {
        text += fmt::format("{}`{}`", text.empty() ? "" : ", ", expr);
      }
    }
    if (!text.empty()) {
      Line(1, fmt::format("{}: {}", what, text));
    }
  }
  static ExprId IdOf(ExprId id) { return id; }
  template <class T>
  static ExprId IdOf(const std::pair<const ExprId, T>& entry) {
    return entry.first;
  }

  const RaisedKernel& raised_;
  const Module& module_;
  std::string text_;
};

}  // namespace

std::string Describe(const RaisedModule& raised) {
  std::string text;
  for (const RaisedKernel& kernel : raised.kernels) {
    text += Describer(kernel).Run();
  }
  for (const auto* list : {&raised.check_texts, &raised.wait_texts}) {
    for (size_t i = 0; i < list->size(); ++i) {
      text += fmt::format("// {} {} says: {}\n", list == &raised.check_texts ? "check" : "wait", i,
                          (*list)[i]);
    }
  }
  return text;
}

}  // namespace etc
