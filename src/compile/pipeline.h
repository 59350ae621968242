// Runs passes over a module, with all that the command line can ask for around them.
#pragma once

#include <string>
#include <vector>

#include "compile/options.h"
#include "compile/phase_timer.h"
#include "compile/session.h"
#include "ir/module.h"
#include "schedule/passes.h"

namespace etc {

/// Whether every graph of the module has become kernels.
[[nodiscard]] bool IsScheduled(const Module& module);

/// The passes that make of the module what is emitted: of one that is scheduled only what the
/// options add to kernels.
[[nodiscard]] std::vector<Pass> PassesFor(const Module& module, const ScheduleOptions& options);

/// The passes of these names, in this order. Reports unknown names as [command-line].
[[nodiscard]] bool FindPasses(const std::vector<std::string>& names, std::vector<Pass>& passes,
                              Diagnostics& diagnostics);

/// Runs derive-events ahead of all other passes, on a module whose dependences nobody has verified.
/// The graphs that it changed are verified as after any pass. `remarks`: says what was derived.
/// `bodies`: gets what was read, for the proofs; or null.
[[nodiscard]] bool DeriveEventsFirst(Module& module, bool remarks, Diagnostics& diagnostics,
                                     DerivedBodies* bodies = nullptr);

/// Runs the passes in order on a verified module. False after an error of the input. An invalid
/// module behind the last one is an internal error, and so is one behind each in debug builds and
/// with `--verify-each`.
[[nodiscard]] bool RunPasses(Module& module, const std::vector<Pass>& passes,
                             const LoweringOptions& options, PhaseTimer& timer, Session& session);

}  // namespace etc
