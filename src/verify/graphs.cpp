#include <fmt/format.h>

#include <algorithm>

#include "analysis/events_of_sm.h"
#include "analysis/samples.h"
#include "ir/evaluate.h"
#include "ir/flagged.h"
#include "ir/printer.h"
#include "ir/share_refs.h"
#include "ir/walk.h"
#include "verify/arguments.h"
#include "verify/arrays.h"
#include "verify/checks.h"
#include "verify/edges.h"
#include "verify/expr_checker.h"
#include "verify/kernel_checks.h"
#include "verify/phased.h"
#include "verify/queue_checks.h"
#include "verify/sources.h"
#include "verify/tensors.h"
#include "verify/wording.h"

namespace etc {
namespace {

/// What a node stands in.
enum class Place { Graph, Kernel };

class GraphChecks {
 public:
  GraphChecks(const Module& module, Place place, const std::vector<Where>& where,
              Diagnostics& diagnostics)
      : module_(module),
        place_(place),
        where_(where),
        ranges_(RangesOf(module, where)),
        diagnostics_(diagnostics),
        exprs_(module, diagnostics, where) {}

  void Params(const std::vector<TensorId>& params) {
    for (TensorId param : params) {
      CheckTensor(module_, module_.tensors[param], exprs_, diagnostics_);
      CheckArray(module_, module_.tensors[param], diagnostics_);
      CheckSources(module_, module_.tensors[param], exprs_, diagnostics_);
    }
  }

  void Block(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      std::visit([&](const auto& node) { Check(module_.RangeOf(id), node); }, module_.nodes[id]);
    }
  }

  /// What shares and places of a kernel name.
  void Values(const std::vector<SymbolId>& values) {
    for (SymbolId value : values) {
      CheckSize(module_.symbols[value].value, "a value of a kernel", DiagnosticKind::Structure);
    }
  }

 private:
  void Check(SourceRange, const BufferDecl& decl) {
    const Tensor& tensor = module_.tensors[decl.tensor];
    CheckTensor(module_, tensor, exprs_, diagnostics_);
    if (tensor.offset) {
      CheckSize(tensor.offset, "an offset in the workspace", DiagnosticKind::Shape);
    }
  }

  void Check(SourceRange range, const EventDecl& decl) {
    if (repeat_depth_ > 0) {
      Misplaced(range,
                "an event is declared outside of `repeat`; give it an axis for the repetition");
    }
    const Event& event = module_.events[decl.event];
    CheckEvent(module_, event, exprs_, diagnostics_);
    if (place_ == Place::Graph && IsOfSm(event)) {
      diagnostics_.Error(DiagnosticKind::Via, event.range,
                         fmt::format("`%{}` is `via {}` in a graph, but only a kernel says which "
                                     "SM runs a task",
                                     event.name, Spelling(event.realisation)));
    }
    if (event.first && place_ == Place::Graph) {
      Misplaced(module_.RangeOf(event.first),
                "an event has a place among the counters in a kernel only");
    } else if (event.first) {
      CheckSize(event.first, "the first counter of an event", DiagnosticKind::Structure);
    }
  }

  void Check(SourceRange range, const CallNode& call) {
    if (place_ == Place::Kernel) {
      return Misplaced(range, "a `call` stands in a graph, not in a kernel");
    }
    const Device& callee = module_.devices[call.callee];
    Arguments(range, callee, call.args);
    Scalars(range, callee, call.scalars);
    for (const auto* edges : {&call.waits, &call.notifies}) {
      for (const Edge& edge : *edges) {
        CheckEdge(module_, edge, callee, range, exprs_, diagnostics_);
      }
    }
  }

  void Check(SourceRange range, const Share& share) {
    if (place_ == Place::Graph) {
      return Misplaced(range, "a `share` stands in a kernel, not in a graph");
    }
    const Device& callee = module_.devices[share.callee];
    if (share.axes.size() != callee.tasks.size()) {
      diagnostics_
          .Error(DiagnosticKind::Tasks, range,
                 fmt::format("a task of `@{}` has {}, but the share has {}", callee.name,
                             Counted(callee.tasks.size(), "coordinate"), share.axes.size()))
          .notes.push_back(DeclaredHere(callee));
    }
    exprs_.CheckAxes(share.axes);
    if (share.first) {
      exprs_.ExpectInt(share.first, "where a share starts");
    }
    if (share.throttle) {
      CheckThrottle(*share.throttle, diagnostics_);
    }
    Arguments(range, callee, share.args);
    Scalars(range, callee, share.scalars);
    CheckFlagged(range, callee, share.args);
    if (share.pushed_by) {
      CheckRef(module_, *share.pushed_by, range, exprs_, diagnostics_);
    }
    for (const auto* refs : RefsOf(share)) {
      for (const EventRef& ref : *refs) {
        CheckRef(module_, ref, range, exprs_, diagnostics_);
      }
    }
    for (const auto* refs : {&share.range_waits, &share.enter_waits, &share.leave_notifies}) {
      for (const EventRef& ref : *refs) {
        CheckOfAllTasks(module_, ref, share, diagnostics_);
      }
    }
    for (const auto* checks : {&share.range_checks, &share.enter_checks, &share.task_checks}) {
      for (const etc::Check& check : *checks) {
        CheckSlices(module_, check, exprs_, diagnostics_);
        if (checks != &share.task_checks) {
          CheckOfAllTasks(module_, check, share, diagnostics_);
        }
      }
    }
  }

  void Check(SourceRange range, const Dispatch& dispatch) {
    if (place_ == Place::Graph) {
      return Misplaced(range, "a `dispatch` stands in a kernel, not in a graph");
    }
    CheckAhead(dispatch, diagnostics_);
    if (dispatch.capacity) {
      CheckSize(dispatch.capacity, "the capacity of a queue", DiagnosticKind::Structure);
    }
    if (dispatch.tickets) {
      CheckSize(dispatch.tickets, "the first ticket counter of a dispatch",
                DiagnosticKind::Structure);
    }
    Block(dispatch.cases);
  }

  void CheckSize(ExprId size, const std::string& what, DiagnosticKind kind) {
    if (exprs_.CheckClosed(size, true, what, kind)) {
      exprs_.ExpectInt(size, what);
    }
  }

  /// Only an implementation that says so can take a flagged buffer.
  void CheckFlagged(SourceRange range, const Device& callee, const std::vector<Argument>& args) {
    for (size_t i = 0; i < std::min(args.size(), callee.params.size()); ++i) {
      const Tensor& tensor = module_.tensors[args[i].tensor];
      if (tensor.flagged && !TakesFlagged(module_, callee, callee.params[i], ranges_)) {
        diagnostics_.Error(
            DiagnosticKind::Argument, range,
            fmt::format("`%{}` is flagged, but no implementation of `@{}` takes "
                        "`%{}` flagged",
                        tensor.name, callee.name, module_.tensors[callee.params[i]].name));
      }
    }
  }

  void Check(SourceRange, const Repeat& repeat) {
    size_t before = diagnostics_.error_count();
    const std::string& name = module_.symbols[repeat.var].name;
    for (ExprId bound : {repeat.lo, repeat.hi}) {
      std::string what = fmt::format("a bound of `repeat {}`", name);
      if (exprs_.CheckClosed(bound, true, what, DiagnosticKind::Structure)) {
        exprs_.ExpectInt(bound, what);
      }
    }
    if (diagnostics_.error_count() == before) {
      RepeatRange(repeat);
    }
    auto lo = EvaluateInt(module_, repeat.lo, {});
    auto hi = EvaluateInt(module_, repeat.hi, {});
    if (lo && hi && *lo < *hi) {
      around_.first[repeat.var] = *lo;
      around_.last[repeat.var] = *hi - 1;
    }
    ++repeat_depth_;
    Block(repeat.body);
    --repeat_depth_;
    around_.first.erase(repeat.var);
    around_.last.erase(repeat.var);
  }

  /// A range is not negative.
  void RepeatRange(const Repeat& repeat) {
    for (const Sizes& sizes : SampleSizes(module_, where_)) {
      auto lo = EvaluateInt(module_, repeat.lo, sizes.dims, sizes.ranges);
      auto hi = EvaluateInt(module_, repeat.hi, sizes.dims, sizes.ranges);
      if (lo && hi && *hi < *lo) {
        bool fixed = EvaluateInt(module_, repeat.lo, {}) && EvaluateInt(module_, repeat.hi, {});
        diagnostics_.Error(DiagnosticKind::Structure, module_.RangeOf(repeat.hi),
                           fmt::format("the range of `repeat {}` is negative: {} .. {}{}",
                                       module_.symbols[repeat.var].name, *lo, *hi,
                                       fixed ? "" : Describe(module_, sizes)));
        return;
      }
    }
  }

  void Check(SourceRange range, const Region& region) {
    if (place_ == Place::Kernel) {
      return Misplaced(range, "a `region` stands in a graph, not in a kernel");
    }
    Block(region.body);
  }

  void Arguments(SourceRange range, const Device& callee, const std::vector<Argument>& args) {
    if (args.size() != callee.params.size()) {
      diagnostics_
          .Error(DiagnosticKind::Argument, range,
                 fmt::format("`@{}` takes {}, but {} {} given", callee.name,
                             Counted(callee.params.size(), "argument"), args.size(),
                             args.size() == 1 ? "is" : "are"))
          .notes.push_back(DeclaredHere(callee));
      return;
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (place_ == Place::Kernel && HasFreeAxes(args[i])) {
        Misplaced(args[i].range, "a slice with a free axis stands in a graph, not in a kernel");
        continue;
      }
      CheckArgument(module_, range, callee, args[i], module_.tensors[callee.params[i]], around_,
                    ranges_, exprs_, diagnostics_);
    }
    for (size_t i = 0; i < args.size(); ++i) {
      CheckAccess(args[i].range.IsValid() ? args[i].range : range, callee, args[i].tensor,
                  module_.tensors[callee.params[i]]);
    }
    CheckWrittenApart(module_, range, callee, args, ranges_, diagnostics_);
  }

  /// The values of scalar parameters are made of constants, dimensions and the variables of
  /// repeats.
  void Scalars(SourceRange range, const Device& callee, const std::vector<ExprId>& values) {
    if (values.size() != callee.scalars.size()) {
      diagnostics_
          .Error(DiagnosticKind::Argument, range,
                 fmt::format("`@{}` takes {}, but {} {} given", callee.name,
                             Counted(callee.scalars.size(), "scalar"), values.size(),
                             values.size() == 1 ? "is" : "are"))
          .notes.push_back(DeclaredHere(callee));
      return;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const Symbol& scalar = module_.symbols[callee.scalars[i]];
      exprs_.Expect(values[i], scalar.type,
                    fmt::format("the value of `{}` of `@{}`", scalar.name, callee.name));
      ExprId load = FindExpr(module_, values[i], [&](const Expr& expr) {
        const auto* ref = std::get_if<SymbolRef>(&expr);
        return std::holds_alternative<Load>(expr) || std::holds_alternative<Reduce>(expr) ||
               (ref != nullptr && ref->symbol == module_.sms);
      });
      if (load) {
        diagnostics_.Error(
            DiagnosticKind::Argument, module_.RangeOf(load),
            fmt::format("the value of `{}` of `@{}` is made of constants, dimensions and variables "
                        "of repeats, but `{}` is none of them",
                        scalar.name, callee.name, Print(module_, load)));
      }
    }
  }

  void CheckAccess(SourceRange range, const Device& callee, TensorId id, const Tensor& param) {
    const Tensor& tensor = module_.tensors[id];
    if (param.access != Access::In && tensor.kind == TensorKind::Param &&
        tensor.access == Access::In) {
      Diagnostic& error =
          diagnostics_.Error(DiagnosticKind::Access, range,
                             fmt::format("`%{}` is an `in` parameter, but `@{}` writes it as `%{}`",
                                         tensor.name, callee.name, param.name));
      error.notes.push_back({tensor.range, "declare it `out` or `inout` to write it"});
      error.notes.push_back(DeclaredHere(param));
    }
  }

  void Misplaced(SourceRange range, std::string message) {
    diagnostics_.Error(DiagnosticKind::Structure, range, std::move(message));
  }

  const Module& module_;
  Place place_;
  const std::vector<Where>& where_;  // the sizes that the graph or the kernel is for
  DimRanges ranges_;                 // the same
  Diagnostics& diagnostics_;
  ExprChecker exprs_;
  int repeat_depth_ = 0;
  Iterations around_;
};

}  // namespace

void CheckGraph(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  GraphChecks checks(module, Place::Graph, graph.where, diagnostics);
  checks.Params(graph.params);
  checks.Block(graph.body);
  CheckWhere(module, graph.where, diagnostics);
  if (diagnostics.error_count() == before) {
    CheckSourcesUsed(module, graph, diagnostics);
  }
}

void CheckKernel(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  GraphChecks checks(module, Place::Kernel, kernel.where, diagnostics);
  ExprChecker exprs(module, diagnostics);
  checks.Params(kernel.params);
  CheckLaunch(kernel, diagnostics);
  if (kernel.throttle) {
    CheckThrottle(*kernel.throttle, diagnostics);
  }
  if (kernel.depth) {
    CheckDepth(*kernel.depth, kernel.throttle->range, diagnostics);
  }
  if (kernel.watchdog) {
    CheckWatchdog(*kernel.watchdog, diagnostics);
  }
  if (kernel.profile) {
    CheckProfile(module, *kernel.profile, exprs, diagnostics);
  }
  checks.Values(kernel.values);
  checks.Block(kernel.declarations);
  checks.Block(kernel.body);
  CheckSchedule(module, kernel, diagnostics);
  CheckQueues(module, kernel, diagnostics);
  CheckPlaces(module, kernel, diagnostics);
  CheckCounters(module, kernel, diagnostics);
  CheckVia(module, kernel, diagnostics);
  CheckWords(module, kernel, diagnostics);
  for (const Check& check : kernel.checks) {
    CheckLaunchCheck(module, check, exprs, diagnostics);
  }
  CheckWhere(module, kernel.where, diagnostics);
}

}  // namespace etc
