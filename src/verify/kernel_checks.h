// What only kernels say: their schedule, how fast the loader runs ahead, what launches check.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"
#include "verify/expr_checker.h"

namespace etc {

/// The warps and the shared memory of a launch, of which a target may have less.
void CheckLaunch(const Kernel& kernel, Diagnostics& diagnostics);

void CheckThrottle(const Throttle& throttle, Diagnostics& diagnostics);

void CheckWatchdog(const Watchdog& watchdog, Diagnostics& diagnostics);

/// Of the loader's ring, in slots.
void CheckDepth(int64_t depth, SourceRange range, Diagnostics& diagnostics);

/// How many spans of tasks a launch has room for.
void CheckProfile(const Module& module, const Profile& profile, ExprChecker& exprs,
                  Diagnostics& diagnostics);

/// What the schedule of a kernel asks of its body: a dispatch where it is `dynamic` and there only,
/// and no flag in data where launches do without.
void CheckSchedule(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);

/// How many tasks an SM takes of a dispatch before it runs them.
void CheckAhead(const Dispatch& dispatch, Diagnostics& diagnostics);

/// Each buffer is placed inside of its memory, and aligned.
void CheckPlaces(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);

/// The counters of each event come behind those of the events before it, and the tickets of each
/// dispatch behind all of these and behind those of the dispatches before it.
void CheckCounters(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);

/// What events inside of an SM need that the text shows, and room for their counters in the shared
/// memory of a launch. That their tasks run on one SM is proved (src/analysis/proofs).
void CheckVia(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);

/// The slices that a check is of, and what it says of them.
void CheckSlices(const Module& module, const Check& check, ExprChecker& exprs,
                 Diagnostics& diagnostics);

/// A check that comes before the tasks of a share does not read their coordinates.
void CheckOfAllTasks(const Module& module, const Check& check, const Share& share,
                     Diagnostics& diagnostics);

/// What all tasks of a share wait for or notify together does not name the coordinates of one.
void CheckOfAllTasks(const Module& module, const EventRef& ref, const Share& share,
                     Diagnostics& diagnostics);

/// A check that comes before the first task.
void CheckLaunchCheck(const Module& module, const Check& check, ExprChecker& exprs,
                      Diagnostics& diagnostics);

}  // namespace etc
