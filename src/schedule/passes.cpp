#include "schedule/passes.h"

#include <algorithm>

#include "expand/expand.h"
#include "schedule/lower.h"

namespace etc {

namespace {

bool ExpandFlat(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics) {
  return Expand(module, {{options.target->sms, options.target->shared_bytes}}, diagnostics);
}

}  // namespace

const std::vector<Pass>& AllPasses() {
  static const std::vector<Pass> kPasses = {
      // Done before the first verification, so here there is nothing left to do but to print.
      {"import", "imports, functions, generic parameters and called graphs in their places",
       ExpandFlat},
      // The same walk: what is called depends on what is chosen.
      {"choose", "what operators leave open, decided for each range of sizes", ExpandFlat},
      // Not in the static pipeline: what an author wrote stays, and derived events are few.
      {"strip-events", "graphs without events, waits and notifies", StripEvents},
      {"minimise-events", "no wait that the order of tasks does not need", MinimiseEvents},
      // First: a schedule keeps the order that events ask for.
      {"derive-events", "events for graphs that have none", DeriveEvents},
      // Behind derive-events, which gives all ranges of a graph the same events, and ahead of all
      // that schedules: no other pass meets a call without tasks or a choice that a range decides.
      {"specialise", "a graph for each range of a specialisation, folded for it", Specialise},
      // Behind specialise: ranges may differ in it.
      {"choose-schedule", "one kernel or launches, for graphs of the schedule `auto`",
       ChooseSchedule},
      // In either order: everything below works on kernels.
      {"lower-kernels", "graphs of the schedule `kernels` to a list of launches", LowerKernels},
      {"lower-static", "graphs to persistent kernels with an explicit share for each call",
       LowerStatic, BecomesPersistent},
      // Before the memory plan, which reads from the hoisted form that an event joins all tasks of
      // one call with all tasks of another.
      {"hoist-events", "wait and notify once per share where the task does not matter",
       HoistEvents},
      // On the hoisted form as it stays, and before the memory plan, which keeps flagged buffers
      // apart.
      {"flag-in-data", "buffers whose words are their own flags, in the place of events (CUDA)",
       FlagInData},
      // Behind flag-in-data, which may do without the event, and before the memory plan.
      {"events-in-words",
       "words that say in which turn they were written, for events of peers (CUDA)", EventsInWords},
      {"plan-memory", "offsets of the intermediate buffers in the workspace", PlanMemory},
      // Behind flag-in-data, since a chain of flags in data is shorter than one of events.
      {"throttle-loader", "how fast the loader of preloaded operands runs ahead", ThrottleLoader},
      // Anywhere behind the lowering: no other pass looks at checks.
      {"add-checks", "checks of what callers promise and of indices that depend on data",
       AddChecks},
      // Anywhere behind the lowering, as well.
      {"add-watchdog", "how long a launch may stand still before it ends", AddWatchdog},
      // Behind hoist-events and flag-in-data, which say how often an SM waits and notifies.
      {"add-profile", "launches that write down when each role of an SM did what", AddProfile},
      // Behind hoist-events and flag-in-data, which leave the events that a share waits for, and
      // before realise-events, which looks where tasks run.
      {"join-rows", "shares that follow each other row by row begin on one SM", JoinRows},
      // Last: hoisting changes how often an event is signalled, which a realisation may depend on.
      {"realise-events", "how each event is realised", RealiseEvents},
  };
  return kPasses;
}

std::vector<Pass> StaticPipeline(const ScheduleOptions& options) {
  std::vector<Pass> passes = AllPasses();
  std::erase_if(passes, [&](const Pass& pass) {
    return pass.run == StripEvents || pass.run == MinimiseEvents ||
           ((pass.run == FlagInData || pass.run == EventsInWords) && !options.flag_in_data) ||
           (pass.run == AddChecks && !options.debug_checks) ||
           (pass.run == AddWatchdog && !options.HasWatchdog()) ||
           (pass.run == AddProfile && !options.profile);
  });
  return passes;
}

std::vector<Pass> KernelPipeline(const ScheduleOptions& options) {
  std::vector<Pass> passes = StaticPipeline(options);
  std::erase_if(passes, [](const Pass& pass) {
    return pass.run != AddChecks && pass.run != AddWatchdog && pass.run != AddProfile;
  });
  return passes;
}

}  // namespace etc
