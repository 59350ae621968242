#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ir/evaluate.h"
#include "ir/loader_reads.h"
#include "ir/peers.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/kernel_builder.h"
#include "schedule/lower.h"
#include "schedule/name_value.h"
#include "schedule/queue_builder.h"

namespace etc {
namespace {

/// How many tasks of a dispatch an SM takes before it runs them: so many that its loader knows what
/// to copy next while it copies, and no more, since nobody else can run them then.
constexpr int64_t kAhead = 1;

/// Builds one kernel from one graph.
class Lowering : KernelBuilder {
 public:
  using KernelBuilder::KernelBuilder;

  std::optional<Kernel> Run() {
    Kernel kernel = Begin();
    kernel.shared_bytes = options_.shared_bytes.value_or(options_.target->shared_bytes);
    kernel_ = &kernel;
    ExprId first = MakeInt(module_, 0);
    if (!LowerBlock(graph_.body, graph_.schedule, first, kernel.declarations, kernel.body) ||
        !ok_) {
      return std::nullopt;
    }
    InlineSingleUses(module_, kernel);
    if (!DispatchesOf(module_, kernel).empty()) {
      kernel.schedule = ScheduleKind::Dynamic;
    }
    return kernel;
  }

 private:
  /// Lowers the nodes in order. `first` is the number of tasks that precede the block, and then
  /// those that precede what follows it.
  bool LowerBlock(const std::vector<NodeId>& nodes, std::optional<ScheduleKind> schedule,
                  ExprId& first, std::vector<NodeId>& declarations, std::vector<NodeId>& body) {
    bool ok = true;
    // The calls of the schedule `drain`, or of `dynamic`, that follow each other up to here.
    Dispatch drain;
    QueueBuilder queue(
        module_, RangesOf(module_, graph_.where),
        {iterations_, [&](Event trigger) { return AddTrigger(std::move(trigger), declarations); },
         [&](EventId event) { return CountNotifies(event); },
         [&](TensorId tensor) {
           std::set<EventId> events;
           CollectNotified(graph_.body, {OriginalOf(tensor)}, events);
           return events;
         }});
    SourceRange open_range;
    auto close = [&] {
      if (!queue.IsEmpty()) {
        drain = queue.Take(kAhead);
      }
      if (!drain.cases.empty()) {
        drain.ahead = kAhead;
        body.push_back(module_.AddNode(std::exchange(drain, {}), open_range));
      }
    };
    auto dispatch = [&](const CallNode& call, SourceRange range, ScheduleKind kind) {
      Share share = LowerCase(call, range);
      bool queued = kind == ScheduleKind::Dynamic;
      if (queued ? !drain.cases.empty() || !queue.Takes(share) : !queue.IsEmpty()) {
        close();
      }
      if (queue.IsEmpty() && drain.cases.empty()) {
        open_range = range;
      }
      if (queued) {
        queue.Add(std::move(share), range);
      } else {
        drain.cases.push_back(module_.AddNode(std::move(share), range));
      }
    };
    for (NodeId id : nodes) {
      const Node node = module_.nodes[id];  // a copy: lowering grows the table
      SourceRange range = module_.RangeOf(id);
      std::visit(
          Overloaded{
              [&](const BufferDecl& buffer) { declarations.push_back(CopyBuffer(buffer, range)); },
              [&](const EventDecl& event) { declarations.push_back(CopyEvent(event, range)); },
              [&](const CallNode& call) {
                ScheduleKind kind = ScheduleOf(call, schedule);
                if (IsDispatched(kind)) {
                  return dispatch(call, range, kind);
                }
                close();
                ok &= LowerCall(call, range, schedule, first, body);
              },
              [&](const Repeat& repeat) {
                close();
                ok &= LowerRepeat(repeat, range, schedule, first, declarations, body);
              },
              [&](const Region& region) {
                close();
                ok &= LowerBlock(region.body, region.schedule, first, declarations, body);
              },
              [](const OneOf<Share, Dispatch> auto&) { ETC_CHECK(!"a share inside a graph"); },
          },
          node);
    }
    close();
    return ok;
  }

  /// What `auto` became is the graph's own.
  ScheduleKind ScheduleOf(const CallNode& call, std::optional<ScheduleKind> around) const {
    std::optional<ScheduleKind> said = call.schedule ? call.schedule : around;
    ScheduleKind kind = options_.schedule.value_or(said.value_or(ScheduleKind::Auto));
    return kind == ScheduleKind::Auto ? graph_.schedule.value_or(ScheduleKind::Static) : kind;
  }

  static bool IsDispatched(ScheduleKind kind) {
    return kind == ScheduleKind::Drain || kind == ScheduleKind::Dynamic;
  }

  bool LowerRepeat(const Repeat& repeat, SourceRange range, std::optional<ScheduleKind> schedule,
                   ExprId& first, std::vector<NodeId>& declarations, std::vector<NodeId>& body) {
    Repeat lowered = CopyHead(repeat);

    // Two rounds: the number of tasks of one iteration is a factor in where its shares start.
    ExprId per_iteration =
        NameValue(module_, *kernel_, "tasks_of_" + module_.symbols[lowered.var].name,
                  CountTasks(repeat.body, schedule));
    ExprId iteration = MakeSub(module_, MakeRef(module_, lowered.var), lowered.lo);
    ExprId inside = MakeAdd(module_, first, MakeMul(module_, iteration, per_iteration));
    iterations_.push_back({lowered.var, lowered.lo, lowered.hi});
    if (!LowerBlock(repeat.body, schedule, inside, declarations, lowered.body)) {
      return false;
    }
    iterations_.pop_back();
    ExprId iterations = MakeSub(module_, lowered.hi, lowered.lo);
    first = MakeAdd(module_, first, MakeMul(module_, iterations, per_iteration));
    body.push_back(module_.AddNode(std::move(lowered), range));
    return true;
  }

  /// The number of tasks of all calls in `nodes` that are divided among the SMs by a formula.
  ExprId CountTasks(const std::vector<NodeId>& nodes, std::optional<ScheduleKind> schedule) {
    ExprId total = MakeInt(module_, 0);
    for (NodeId id : nodes) {
      const Node node = module_.nodes[id];  // a copy: counting grows the table
      ExprId count = std::visit(
          Overloaded{
              [&](const CallNode& call) {
                return IsDispatched(ScheduleOf(call, schedule)) ? MakeInt(module_, 0)
                                                                : CountOf(call);
              },
              [&](const Repeat& repeat) {
                ExprId inner = CountTasks(repeat.body, schedule);
                ExprId iterations = MakeSub(module_, Clone(module_, repeat.hi, symbols_),
                                            Clone(module_, repeat.lo, symbols_));
                return MakeMul(module_, iterations, inner);
              },
              [&](const Region& region) { return CountTasks(region.body, region.schedule); },
              [&](const OneOf<BufferDecl, EventDecl, Share, Dispatch> auto&) {
                return MakeInt(module_, 0);
              },
          },
          node);
      total = MakeAdd(module_, total, count);
    }
    return total;
  }

  bool LowerCall(const CallNode& call, SourceRange range, std::optional<ScheduleKind> schedule,
                 ExprId& first, std::vector<NodeId>& body) {
    ScheduleKind kind = ScheduleOf(call, schedule);
    if (kind == ScheduleKind::Kernels) {
      diagnostics_.Error(DiagnosticKind::Unsupported, range,
                         fmt::format("`@{}` has the schedule `kernels`, but not every call of "
                                     "graph `@{}` has; they cannot be mixed yet",
                                     module_.devices[call.callee].name, graph_.name));
      return false;
    }
    Share share = LowerCase(call, range);
    if (iterations_.empty()) {
      first = NameValue(module_, *kernel_, "first_" + module_.devices[call.callee].name, first);
    }
    share.first = first;
    body.push_back(module_.AddNode(std::move(share), range));
    first = MakeAdd(module_, first, CountOf(call));
    return true;
  }

  /// All tasks of a call with what they wait for and notify, wherever they run.
  Share LowerCase(const CallNode& call, SourceRange range) {
    Share share = CopyCall(call);
    auto lower_edges = [&](const std::vector<Edge>& edges) {
      std::vector<EventRef> refs;
      for (const Edge& edge : edges) {
        Substitution symbols = symbols_;
        for (size_t i = 0; i < edge.coords.size(); ++i) {
          symbols[edge.coords[i]] = MakeRef(module_, share.axes[i].var);
        }
        for (const EventRef& ref : edge.refs) {
          refs.push_back(CopyRef(ref, symbols));
        }
      }
      return refs;
    };
    share.waits = lower_edges(call.waits);
    share.notifies = lower_edges(call.notifies);
    share.awaits_peers = ReachesPeers(module_, share);
    WaitForRanges(call, range, share);
    return share;
  }

  /// Where task ranges are read from what the launch computes, all waits that do not depend on the
  /// task come before that: verification says that they are enough. Where a loader reads such
  /// tensors, those for the calls that write them do.
  void WaitForRanges(const CallNode& call, SourceRange range, Share& share) {
    bool computed = false;
    std::vector<SymbolId> vars;
    for (const Axis& axis : share.axes) {
      vars.push_back(axis.var);
      for (ExprId bound : {axis.lo, axis.hi}) {
        computed |= bool{FindExpr(module_, bound, [&](const Expr& expr) {
          const auto* load = std::get_if<Load>(&expr);
          return load != nullptr && (module_.tensors[load->tensor].kind == TensorKind::Buffer ||
                                     module_.tensors[load->tensor].access != Access::In);
        })};
      }
    }
    if (computed) {
      share.range_waits = TakeCommonWaits(module_, share.waits, vars);
    } else if (std::set<EventId> events = EventsForLoader(call); !events.empty()) {
      std::vector<EventRef> common = TakeCommonWaits(module_, share.waits, vars);
      for (EventRef& wait : share.waits) {
        WaitForAll(call, range, wait, vars);
      }
      for (EventRef& wait : common) {
        (events.contains(wait.event) ? share.range_waits : share.waits).push_back(std::move(wait));
      }
    }
  }

  /// What a loader has read behind a wait, the consumers take over once, by an object for all tasks
  /// of a share. So nothing is left to wait for in front of a single task, and what would be is
  /// waited for as a whole, in the iterations in which tasks wait.
  void WaitForAll(const CallNode& call, SourceRange range, EventRef& wait,
                  std::vector<SymbolId> vars) {
    for (const Axis& axis : wait.axes) {
      vars.push_back(axis.var);
    }
    bool of_iteration = false;
    for (EventIndex& index : wait.indices) {
      if (Mentions(module_, index.lo, vars) || Mentions(module_, index.hi, vars)) {
        index = {{}, {}, true};
      }
      of_iteration |= MentionsIteration(index.lo) || MentionsIteration(index.hi);
    }
    wait.axes.clear();
    const ExprId guard = std::exchange(wait.guard, {});
    for (ExprId condition : ConditionsOf(guard)) {
      if (!Mentions(module_, condition, vars)) {
        wait.guard =
            wait.guard ? module_.AddExpr(Binary{BinaryOp::And, wait.guard, condition}) : condition;
      } else if (of_iteration && MentionsIteration(condition)) {
        ok_ = false;  // without the condition, the element may be none that there is
        diagnostics_.Error(
            DiagnosticKind::Unsupported, range,
            fmt::format(
                "the loader of `@{}` reads once for all of its tasks, so they have one wait, "
                "but `{}` depends on the task and the iteration",
                module_.devices[call.callee].name, Print(module_, condition)));
      }
    }
  }

  bool MentionsIteration(ExprId id) const {
    return std::any_of(iterations_.begin(), iterations_.end(),
                       [&](const Axis& repeat) { return Mentions(module_, id, {repeat.var}); });
  }

  /// What all must hold.
  std::vector<ExprId> ConditionsOf(ExprId guard) const {
    const auto* both = guard ? std::get_if<Binary>(&module_.exprs[guard]) : nullptr;
    if (both == nullptr || both->op != BinaryOp::And) {
      return guard ? std::vector{guard} : std::vector<ExprId>();
    }
    std::vector<ExprId> all = ConditionsOf(both->left);
    const std::vector<ExprId> more = ConditionsOf(both->right);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// The kernel's events that calls notify which write what the call's loader reads.
  std::set<EventId> EventsForLoader(const CallNode& call) const {
    std::set<TensorId> read;
    const Device& device = module_.devices[call.callee];
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (IsReadBehindWait(module_, device, device.params[i], call.args[i].tensor)) {
        read.insert(call.args[i].tensor);
      }
    }
    std::set<EventId> events;
    if (!read.empty()) {
      CollectNotified(graph_.body, read, events);
    }
    return events;
  }

  /// How many clauses of the graph notify the kernel's event.
  size_t CountNotifies(EventId event) const {
    size_t count = 0;
    VisitNodes(module_, graph_.body, [&](NodeId id) {
      const auto* call = std::get_if<CallNode>(&module_.nodes[id]);
      for (size_t i = 0; call != nullptr && i < call->notifies.size(); ++i) {
        const std::vector<EventRef>& refs = call->notifies[i].refs;
        count +=
            static_cast<size_t>(std::count_if(refs.begin(), refs.end(), [&](const EventRef& ref) {
              return CopyOf(ref.event) == event;
            }));
      }
    });
    return count;
  }

  void CollectNotified(const std::vector<NodeId>& nodes, const std::set<TensorId>& written,
                       std::set<EventId>& events) const {
    VisitNodes(module_, nodes, [&](NodeId id) {
      const auto* call = std::get_if<CallNode>(&module_.nodes[id]);
      if (call == nullptr) {
        return;
      }
      const Device& callee = module_.devices[call->callee];
      for (size_t i = 0; i < call->args.size(); ++i) {
        bool writes = module_.tensors[callee.params[i]].access != Access::In;
        if (!writes || !written.contains(call->args[i].tensor)) {
          continue;
        }
        for (const Edge& edge : call->notifies) {
          for (const EventRef& ref : edge.refs) {
            events.insert(CopyOf(ref.event));
          }
        }
      }
    });
  }

  Kernel* kernel_ = nullptr;      // what is being built
  bool ok_ = true;                // no error in a wait
  std::vector<Axis> iterations_;  // of the repeats around the next node, which no value may follow
};

}  // namespace

bool BecomesPersistent(const Module& module, const Graph& graph, const ScheduleOptions& options) {
  return !IsForLaunches(module, graph, options);
}

bool LowerStatic(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics) {
  return ReplaceGraphs(
      module, [&](const Graph& graph) { return BecomesPersistent(module, graph, options); },
      [&](const Graph& graph) { return Lowering(module, graph, options, diagnostics).Run(); },
      diagnostics);
}

}  // namespace etc
