// The single steps of the pipeline; passes.cpp puts them in order.
#pragma once

#include "schedule/passes.h"

namespace etc {

/// Removes every event of a graph and every wait and notify.
bool StripEvents(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Gives each graph without events those that the dependences between its tasks need.
bool DeriveEvents(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Removes the waits without which all dependences are still proved to be in order, and the events
/// that nothing waits for any more.
bool MinimiseEvents(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Replaces each graph by one for each range of its specialisation, folded for that range: what has
/// one value there is a literal, and calls without tasks are gone, with the buffers and events that
/// nothing else uses. A graph without ranges is folded for all sizes.
bool Specialise(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Says of each graph of the schedule `auto` whether it becomes one kernel or launches: what the
/// simulator takes for quicker. Reports another schedule than `static` for a program with a mesh.
bool ChooseSchedule(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Replaces each graph whose calls are to be launches of their own by one kernel: a launch for each
/// call, in program order, a repeat around those of a repeat. There are no events: a launch follows
/// all that stand before it.
bool LowerKernels(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Whether LowerStatic takes the graph.
bool BecomesPersistent(const Module& module, const Graph& graph, const ScheduleOptions& options);

/// Replaces each other graph by one kernel. A call becomes the
/// share of its tasks that an SM runs (paper, Algorithm 1, in closed form): program order is the
/// one topological order for all SMs, and each share starts at the SM where the one before it left
/// off.
bool LowerStatic(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Moves waits that do not depend on the task to the start of their share, and such notifies to its
/// end, so that an SM waits and signals once for all of its tasks.
bool HoistEvents(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Flags the buffers that the implementations of all their uses can take flagged, gives each of
/// them a version for every time it is written, and drops the events that only announced them.
bool FlagInData(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Realises events that peers notify in words of the buffer that they announce, where all that use
/// it take it phased.
bool EventsInWords(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Why FlagInData left a tensor of a kernel that it has seen to events; `module` stays as it is.
std::string WhyNotFlagged(Module& module, KernelId kernel, TensorId tensor,
                          const ScheduleOptions& options);

/// Gives each buffer of a kernel its offset in the workspace. Two buffers share memory only where
/// the events, or the order of launches, put every task that touches the one before every task that
/// touches the other.
bool PlanMemory(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Chooses how fast the loader of each kernel that streams runs ahead, by the simulator.
bool ThrottleLoader(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Has every launch make sure of what its parameters promise and what device functions ask of them,
/// and generated bodies of indices that depend on data. A kernel with checks stays as it is.
bool AddChecks(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Ends launches of kernels in which tasks wait for events and nothing happens. A list of launches
/// has no such tasks.
bool AddWatchdog(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Has each role of an SM write down when it did what. The number of spans for which there is room
/// follows from the tasks of each share, its waits and its notifies.
bool AddProfile(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Has a share begin where the share before it begins, if its tasks follow those of that one row by
/// row and no SM has two: neither is later for it, and what is between them stays on the SM.
bool JoinRows(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Chooses how each event is realised that does not say so, and numbers the counters of all.
bool RealiseEvents(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

}  // namespace etc
