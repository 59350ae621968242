#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "verify/checks.h"
#include "verify/edges.h"
#include "verify/expr_checker.h"
#include "verify/shapes.h"
#include "verify/tensors.h"

namespace etc {
namespace {

/// What a node stands in.
enum class Place { Graph, Kernel };

// The loader's numbers are 32 bits wide on the GPU, whose clock wraps around.
constexpr int64_t kMostOfLoader = 1 << 30;

void CheckPace(const Pace& pace, Diagnostics& diagnostics) {
  if (pace.cap < 1 || pace.cap > kMostOfLoader) {
    diagnostics.Error(DiagnosticKind::Pace, pace.range,
                      fmt::format("the loader's cap must be from 1 to {} slots, but it is {}",
                                  kMostOfLoader, pace.cap));
  }
  if (pace.ahead && (*pace.ahead < 1 || *pace.ahead > pace.cap)) {
    diagnostics.Error(DiagnosticKind::Pace, pace.range,
                      fmt::format("the loader must be ahead by 1 slot or more and at most its cap "
                                  "of {}, but it is by {}",
                                  pace.cap, *pace.ahead));
  }
  if (pace.gap > kMostOfLoader) {
    diagnostics.Error(DiagnosticKind::Pace, pace.range,
                      fmt::format("the loader's gap must be at most {} cycles, but it is {}",
                                  kMostOfLoader, pace.gap));
  }
}

/// A task may take the next slot while the last one is on its way back.
void CheckDepth(int64_t depth, SourceRange range, Diagnostics& diagnostics) {
  if (depth < 2 || depth > kMostOfLoader) {
    diagnostics.Error(DiagnosticKind::Pace, range,
                      fmt::format("the loader's depth must be from 2 to {} slots, but it is {}",
                                  kMostOfLoader, depth));
  }
}

/// The slices and what is promised of them.
void CheckSlices(const Module& module, const Check& check, ExprChecker& exprs,
                 Diagnostics& diagnostics) {
  Tensor checked = module.tensors[check.tensor];
  if (check.leading > 0 && check.leading >= checked.shape.size()) {
    diagnostics.Error(
        DiagnosticKind::Rank, check.range,
        fmt::format("`%{}` has {} dimension{}, so {} `*` leave{} no slice to check", checked.name,
                    checked.shape.size(), checked.shape.size() == 1 ? "" : "s", check.leading,
                    check.leading == 1 ? "s" : ""));
    return;
  }
  bool all_named = check.leading + check.indices.size() == checked.shape.size();
  if (!check.indices.empty() && !all_named) {
    diagnostics.Error(DiagnosticKind::Rank, check.range,
                      fmt::format("`%{}` has {} dimension{}, but {} stand{} here", checked.name,
                                  checked.shape.size(), checked.shape.size() == 1 ? "" : "s",
                                  check.leading + check.indices.size(),
                                  check.leading + check.indices.size() == 1 ? "s" : ""));
    return;
  }
  checked.range = check.range;
  checked.value_lo = check.value_lo;
  checked.value_hi = check.value_hi;
  checked.distinct = check.distinct;
  checked.monotone = check.monotone;
  checked.counts = check.counts;
  CheckPromises(module, checked, exprs, diagnostics);
}

class GraphChecks {
 public:
  GraphChecks(const Module& module, Place place, Diagnostics& diagnostics)
      : module_(module), place_(place), diagnostics_(diagnostics), exprs_(module, diagnostics) {}

  void Params(const std::vector<TensorId>& params) {
    for (TensorId param : params) {
      CheckTensor(module_, module_.tensors[param], exprs_, diagnostics_);
    }
  }

  void Block(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      std::visit([&](const auto& node) { Check(module_.RangeOf(id), node); }, module_.nodes[id]);
    }
  }

  /// Tags stand in the place of events, which launches do without.
  void NothingTagged(const std::vector<NodeId>& declarations) {
    for (NodeId id : declarations) {
      const auto* buffer = std::get_if<BufferDecl>(&module_.nodes[id]);
      if (buffer != nullptr && module_.tensors[buffer->tensor].tagged) {
        diagnostics_.Error(
            DiagnosticKind::Structure, module_.RangeOf(id),
            fmt::format("`%{}` is tagged, but a kernel of separate launches has no tags",
                        module_.tensors[buffer->tensor].name));
      }
    }
  }

  /// Every `out` parameter is written by some call.
  void Outputs(const std::vector<TensorId>& params) {
    for (TensorId param : params) {
      const Tensor& tensor = module_.tensors[param];
      if (tensor.access == Access::Out && !written_.contains(param)) {
        diagnostics_.Error(
            DiagnosticKind::Access, tensor.range,
            fmt::format("`%{}` is an `out` parameter, but no call writes it", tensor.name));
      }
    }
  }

 private:
  void Check(SourceRange, const BufferDecl& decl) {
    const Tensor& tensor = module_.tensors[decl.tensor];
    CheckTensor(module_, tensor, exprs_, diagnostics_);
    if (tensor.offset && exprs_.CheckClosed(tensor.offset, true, "an offset in the workspace",
                                            DiagnosticKind::Shape)) {
      exprs_.ExpectInt(tensor.offset, "an offset in the workspace");
    }
  }

  void Check(SourceRange range, const EventDecl& decl) {
    if (repeat_depth_ > 0) {
      Misplaced(range,
                "an event is declared outside of `repeat`; give it an axis for the repetition");
    }
    CheckEvent(module_, module_.events[decl.event], exprs_, diagnostics_);
  }

  void Check(SourceRange range, const CallNode& call) {
    if (place_ == Place::Kernel) {
      return Misplaced(range, "a `call` stands in a graph, not in a kernel");
    }
    const Device& callee = module_.devices[call.callee];
    Arguments(range, callee, call.args);
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
                 fmt::format("a task of `@{}` has {} coordinate{}, but the share has {}",
                             callee.name, callee.tasks.size(), callee.tasks.size() == 1 ? "" : "s",
                             share.axes.size()))
          .notes.push_back({callee.range, fmt::format("`@{}` is declared here", callee.name)});
    }
    exprs_.CheckAxes(share.axes);
    exprs_.ExpectInt(share.first, "where a share starts");
    if (share.pace) {
      CheckPace(*share.pace, diagnostics_);
    }
    Arguments(range, callee, share.args);
    Tags(range, callee, share.args);
    for (const auto* refs : {&share.range_waits, &share.enter_waits, &share.waits, &share.notifies,
                             &share.leave_notifies}) {
      for (const EventRef& ref : *refs) {
        CheckRef(module_, ref, range, exprs_, diagnostics_);
      }
    }
    for (const auto* checks : {&share.range_checks, &share.enter_checks}) {
      for (const etc::Check& check : *checks) {
        CheckSlices(module_, check, exprs_, diagnostics_);
      }
    }
  }

  /// Only an implementation that says so can take a tagged buffer.
  void Tags(SourceRange range, const Device& callee, const std::vector<Argument>& args) {
    for (size_t i = 0; i < std::min(args.size(), callee.params.size()); ++i) {
      const Tensor& tensor = module_.tensors[args[i].tensor];
      if (tensor.tagged && !TakesTagged(callee, callee.params[i])) {
        diagnostics_.Error(
            DiagnosticKind::Argument, range,
            fmt::format("`%{}` is tagged, but no implementation of `@{}` takes "
                        "`%{}` with tags",
                        tensor.name, callee.name, module_.tensors[callee.params[i]].name));
      }
    }
  }

  void Check(SourceRange, const Repeat& repeat) {
    size_t before = diagnostics_.error_count();
    const std::string& name = module_.symbols[repeat.var].name;
    for (ExprId bound : {repeat.lo, repeat.hi}) {
      std::string what = fmt::format("a bound of `repeat {}`", name);
      if (exprs_.CheckClosed(bound, false, what, DiagnosticKind::Structure)) {
        exprs_.ExpectInt(bound, what);
      }
    }
    auto lo = EvaluateInt(module_, repeat.lo, {});
    auto hi = EvaluateInt(module_, repeat.hi, {});
    if (diagnostics_.error_count() == before && lo && hi && *hi < *lo) {
      diagnostics_.Error(
          DiagnosticKind::Structure, module_.RangeOf(repeat.hi),
          fmt::format("the range of `repeat {}` is negative: {} .. {}", name, *lo, *hi));
    }
    if (lo && hi && *lo < *hi) {
      first_iteration_[repeat.var] = *lo;
      last_iteration_[repeat.var] = *hi - 1;
    }
    ++repeat_depth_;
    Block(repeat.body);
    --repeat_depth_;
    first_iteration_.erase(repeat.var);
    last_iteration_.erase(repeat.var);
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
                 fmt::format("`@{}` takes {} argument{}, but {} {} given", callee.name,
                             callee.params.size(), callee.params.size() == 1 ? "" : "s",
                             args.size(), args.size() == 1 ? "is" : "are"))
          .notes.push_back({callee.range, fmt::format("`@{}` is declared here", callee.name)});
      for (const Argument& arg : args) {
        written_.insert(arg.tensor);  // perhaps; one error is enough
      }
      return;
    }
    for (size_t i = 0; i < args.size(); ++i) {
      Match(range, callee, args[i], module_.tensors[callee.params[i]]);
    }
    for (size_t i = 0; i < args.size(); ++i) {
      CheckAccess(args[i].range.IsValid() ? args[i].range : range, callee, args[i].tensor,
                  module_.tensors[callee.params[i]]);
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (module_.tensors[callee.params[i]].access != Access::In) {
        written_.insert(args[i].tensor);
      }
    }
  }

  void Match(SourceRange call, const Device& callee, const Argument& arg, const Tensor& param) {
    const Tensor& tensor = module_.tensors[arg.tensor];
    SourceRange range = arg.range.IsValid() ? arg.range : call;
    for (ExprId index : arg.indices) {
      exprs_.ExpectInt(index, fmt::format("an index of `%{}`", tensor.name));
    }
    Note declared{param.range, fmt::format("parameter `%{}` of `@{}` is declared here", param.name,
                                           callee.name)};
    if (tensor.type != param.type) {
      diagnostics_
          .Error(DiagnosticKind::Argument, range,
                 fmt::format("`%{}` is {}, but parameter `%{}` of `@{}` is {}", tensor.name,
                             Spelling(tensor.type), param.name, callee.name, Spelling(param.type)))
          .notes.push_back(declared);
    }
    if (arg.indices.size() > tensor.shape.size()) {
      diagnostics_.Error(DiagnosticKind::Rank, range,
                         fmt::format("`%{}` has {} dimension{}, but the slice gives {} indices",
                                     tensor.name, tensor.shape.size(),
                                     tensor.shape.size() == 1 ? "" : "s", arg.indices.size()));
      return;
    }
    if (!tensor.tile.empty() && arg.indices.size() + 2 > tensor.shape.size()) {
      diagnostics_
          .Error(
              DiagnosticKind::Layout, range,
              fmt::format("the slice of `%{}` gives {} ind{}, but its last two axes are stored "
                          "in tiles and stay whole",
                          tensor.name, arg.indices.size(), arg.indices.size() == 1 ? "ex" : "ices"))
          .notes.push_back({tensor.range, fmt::format("`%{}` is declared here", tensor.name)});
      return;
    }
    size_t rank = tensor.shape.size() - arg.indices.size();
    if (rank != param.shape.size()) {
      diagnostics_
          .Error(
              DiagnosticKind::Rank, range,
              fmt::format("{} has {} dimension{}, but parameter `%{}` of `@{}` has {}",
                          arg.indices.empty() ? fmt::format("`%{}`", tensor.name)
                                              : fmt::format("the slice of `%{}`", tensor.name),
                          rank, rank == 1 ? "" : "s", param.name, callee.name, param.shape.size()))
          .notes.push_back(declared);
      return;
    }
    for (size_t i = 0; i < rank; ++i) {
      ExprId mine = tensor.shape[arg.indices.size() + i];
      if (SameSize(module_, mine, param.shape[i])) {
        continue;
      }
      Diagnostic& error = diagnostics_.Error(
          DiagnosticKind::Shape, range,
          fmt::format("dimension {} of `%{}` is `{}`{}, but parameter `%{}` of `@{}` has `{}`{}",
                      arg.indices.size() + i, tensor.name, Print(module_, mine), Value(mine),
                      param.name, callee.name, Print(module_, param.shape[i]),
                      Value(param.shape[i])));
      error.notes.push_back({tensor.range, fmt::format("`%{}` is declared here", tensor.name)});
      error.notes.push_back(declared);
    }
    if (!SameLayout(tensor, param)) {
      Diagnostic& error = diagnostics_.Error(
          DiagnosticKind::Layout, range,
          fmt::format("`%{}` is {}, but parameter `%{}` of `@{}` is {}", tensor.name,
                      Layout(tensor), param.name, callee.name, Layout(param)));
      error.notes.push_back({tensor.range, fmt::format("`%{}` is declared here", tensor.name)});
      error.notes.push_back(declared);
    }
    SliceInside(arg, tensor);
  }

  bool SameLayout(const Tensor& a, const Tensor& b) const {
    return std::equal(a.tile.begin(), a.tile.end(), b.tile.begin(), b.tile.end(),
                      [&](ExprId x, ExprId y) { return SameSize(module_, x, y); });
  }

  /// "stored in tiles of 8 x 32"
  std::string Layout(const Tensor& tensor) const {
    if (tensor.tile.empty()) {
      return "row-major";
    }
    auto size = [&](ExprId id) {
      auto value = EvaluateInt(module_, id, {});
      return value ? fmt::format("{}", *value) : Print(module_, id);
    };
    return fmt::format("stored in tiles of {} x {}", size(tensor.tile[0]), size(tensor.tile[1]));
  }

  /// " = 64" for a constant that is not written as a number.
  std::string Value(ExprId id) const {
    auto value = EvaluateInt(module_, id, {});
    bool literal = std::holds_alternative<IntLiteral>(module_.exprs[id]);
    return value && !literal ? fmt::format(" = {}", *value) : "";
  }

  void SliceInside(const Argument& arg, const Tensor& tensor) {
    for (size_t i = 0; i < arg.indices.size(); ++i) {
      auto extent = EvaluateInt(module_, tensor.shape[i], {});
      for (const Env* env : {&first_iteration_, &last_iteration_}) {
        auto index = EvaluateInt(module_, arg.indices[i], *env);
        if (index && (*index < 0 || (extent && *index >= *extent))) {
          diagnostics_
              .Error(DiagnosticKind::Bounds, module_.RangeOf(arg.indices[i]),
                     fmt::format(
                         "index {} of `%{}` is {}, outside of 0 .. {}{}", i, tensor.name, *index,
                         extent ? fmt::format("{}", *extent) : Print(module_, tensor.shape[i]),
                         env->empty() ? "" : Iteration(arg.indices[i], *env)))
              .notes.push_back({tensor.range, fmt::format("`%{}` is declared here", tensor.name)});
          break;
        }
      }
    }
  }

  /// ", where l = 28": the repeat variables of an expression.
  std::string Iteration(ExprId id, const Env& env) const {
    std::string text;
    for (const auto& [symbol, value] : env) {
      if (Mentions(module_, id, {symbol})) {
        text += fmt::format("{}{} = {}", text.empty() ? ", where " : ", ",
                            module_.symbols[symbol].name, value);
      }
    }
    return text;
  }

  void CheckAccess(SourceRange range, const Device& callee, TensorId id, const Tensor& param) {
    const Tensor& tensor = module_.tensors[id];
    bool writes = param.access != Access::In;
    bool reads = param.access != Access::Out;
    if (writes && tensor.kind == TensorKind::Param && tensor.access == Access::In) {
      Diagnostic& error =
          diagnostics_.Error(DiagnosticKind::Access, range,
                             fmt::format("`%{}` is an `in` parameter, but `@{}` writes it as `%{}`",
                                         tensor.name, callee.name, param.name));
      error.notes.push_back({tensor.range, "declare it `out` or `inout` to write it"});
      error.notes.push_back({param.range, fmt::format("`%{}` is declared here", param.name)});
    }
    bool undefined = tensor.kind == TensorKind::Buffer || tensor.access == Access::Out;
    if (reads && undefined && !written_.contains(id)) {
      diagnostics_
          .Error(DiagnosticKind::Access, range,
                 fmt::format("`@{}` reads `%{}`, {} that no earlier call has written", callee.name,
                             tensor.name, Describe(tensor)))
          .notes.push_back({tensor.range, fmt::format("`%{}` is declared here", tensor.name)});
      written_.insert(id);  // once is enough
    }
  }

  void Misplaced(SourceRange range, std::string message) {
    diagnostics_.Error(DiagnosticKind::Structure, range, std::move(message));
  }

  const Module& module_;
  Place place_;
  Diagnostics& diagnostics_;
  ExprChecker exprs_;
  std::set<TensorId> written_;
  int repeat_depth_ = 0;
  Env first_iteration_;  // of the repeats around the node
  Env last_iteration_;
};

/// Before its first task a launch knows the parameters that it does not write alone.
void CheckCheck(const Module& module, const Check& check, ExprChecker& exprs,
                Diagnostics& diagnostics) {
  const Tensor& checked = module.tensors[check.tensor];
  if (checked.kind != TensorKind::Param || checked.access == Access::Out) {
    diagnostics.Error(DiagnosticKind::Structure, check.range,
                      fmt::format("`%{}` is {}, which has no elements yet when a launch begins",
                                  checked.name, Describe(checked)));
    return;
  }
  CheckSlices(module, check, exprs, diagnostics);
}

}  // namespace

void CheckGraph(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  GraphChecks checks(module, Place::Graph, diagnostics);
  checks.Params(graph.params);
  checks.Block(graph.body);
  checks.Outputs(graph.params);
}

void CheckKernel(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  GraphChecks checks(module, Place::Kernel, diagnostics);
  checks.Params(kernel.params);
  if (kernel.pace) {
    CheckPace(*kernel.pace, diagnostics);
  }
  if (kernel.depth) {
    CheckDepth(*kernel.depth, kernel.pace->range, diagnostics);
  }
  checks.Block(kernel.declarations);
  checks.Block(kernel.body);
  checks.Outputs(kernel.params);
  if (kernel.schedule == ScheduleKind::Kernels) {
    checks.NothingTagged(kernel.declarations);
  }
  ExprChecker exprs(module, diagnostics);
  for (const Check& check : kernel.checks) {
    CheckCheck(module, check, exprs, diagnostics);
  }
  for (const Where& where : kernel.where) {
    for (ExprId bound : {where.lo, where.hi}) {
      if (exprs.CheckClosed(bound, false, "a bound of `where`", DiagnosticKind::Specialise)) {
        exprs.ExpectInt(bound, "a bound of `where`");
      }
    }
  }
}

}  // namespace etc
