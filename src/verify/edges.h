// Well-formedness of waits and notifies.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"
#include "verify/expr_checker.h"

namespace etc {

/// Extents and count of an event.
void CheckEvent(const Module& module, const Event& event, ExprChecker& exprs,
                Diagnostics& diagnostics);

/// One coordinate for each axis of the callee's tasks, and each reference well-formed.
void CheckEdge(const Module& module, const Edge& edge, const Device& callee, SourceRange range,
               ExprChecker& exprs, Diagnostics& diagnostics);

/// One index for each axis of the event; indices, bounds and guard of the right kinds.
void CheckRef(const Module& module, const EventRef& ref, SourceRange range, ExprChecker& exprs,
              Diagnostics& diagnostics);

}  // namespace etc
