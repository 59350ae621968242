#include "verify/edges.h"

#include <fmt/format.h>

#include "analysis/samples.h"
#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/walk.h"
#include "verify/wording.h"

namespace etc {
void CheckEvent(const Module& module, const Event& event, ExprChecker& exprs,
                Diagnostics& diagnostics) {
  std::string what = fmt::format("an extent of `%{}`", event.name);
  size_t before = diagnostics.error_count();
  for (const EventDim& dim : event.dims) {
    if (exprs.CheckClosed(dim.extent, true, what, DiagnosticKind::Shape)) {
      exprs.ExpectInt(dim.extent, what);
    }
  }
  std::string count = fmt::format("the count of `%{}`", event.name);
  exprs.ExpectInt(event.count, count);
  if (diagnostics.error_count() != before) {
    return;
  }
  for (const Sizes& sizes : SampleSizes(module, exprs.where())) {
    for (const EventDim& dim : event.dims) {
      auto extent = EvaluateInt(module, dim.extent, sizes.dims, sizes.ranges);
      if (extent && *extent < 0) {
        diagnostics.Error(DiagnosticKind::Shape, module.RangeOf(dim.extent),
                          fmt::format("{} must not be negative, but `{}` is {}{}", what,
                                      Print(module, dim.extent), *extent, Describe(module, sizes)));
        return;
      }
    }
    auto value = EvaluateInt(module, event.count, sizes.dims, sizes.ranges);
    if (value && *value < 0) {
      diagnostics.Error(DiagnosticKind::EventCount, module.RangeOf(event.count),
                        fmt::format("{} must not be negative, but `{}` is {}{}", count,
                                    Print(module, event.count), *value, Describe(module, sizes)));
      return;
    }
  }
}

void CheckEdge(const Module& module, const Edge& edge, const Device& callee, SourceRange range,
               ExprChecker& exprs, Diagnostics& diagnostics) {
  if (edge.coords.size() != callee.tasks.size()) {
    SourceRange at = edge.coords.empty() ? range : module.symbols[edge.coords[0]].range;
    diagnostics
        .Error(DiagnosticKind::Edge, at.IsValid() ? at : range,
               fmt::format("a task of `@{}` has {}, but the edge names {}", callee.name,
                           Counted(callee.tasks.size(), "coordinate"), edge.coords.size()))
        .notes.push_back(DeclaredHere(callee));
  }
  for (const EventRef& ref : edge.refs) {
    CheckRef(module, ref, range, exprs, diagnostics);
  }
}

void CheckRef(const Module& module, const EventRef& ref, SourceRange range, ExprChecker& exprs,
              Diagnostics& diagnostics) {
  const Event& event = module.events[ref.event];
  if (ref.indices.size() != event.dims.size()) {
    diagnostics
        .Error(DiagnosticKind::Edge, ref.range.IsValid() ? ref.range : range,
               fmt::format("event `%{}` has {}, but the edge gives {} {}", event.name,
                           Counted(event.dims.size(), "dimension"), ref.indices.size(),
                           ref.indices.size() == 1 ? "index" : "indices"))
        .notes.push_back(DeclaredHere(event));
  }
  std::string what = fmt::format("an index of event `%{}`", event.name);
  for (const EventIndex& index : ref.indices) {
    for (ExprId bound : {index.lo, index.hi}) {
      if (bound) {
        exprs.ExpectInt(bound, what);
      }
    }
  }
  exprs.CheckAxes(ref.axes);
  if (ref.peer) {
    exprs.ExpectInt(ref.peer, "the number of a peer");
  }
  if (ref.guard) {
    exprs.ExpectBool(ref.guard, "the condition of an edge");
  }
}

}  // namespace etc
