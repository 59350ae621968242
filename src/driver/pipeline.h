// Runs passes over a module, with all that the command line can ask for around them.
#pragma once

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "analysis/proofs.h"
#include "driver/options.h"
#include "driver/phase_timer.h"
#include "driver/session.h"
#include "ir/module.h"
#include "schedule/passes.h"

namespace etc {

/// Whether every graph of the module has become kernels.
[[nodiscard]] bool IsScheduled(const Module& module);

/// The passes of these names, in this order. Reports unknown names as [command-line].
[[nodiscard]] bool FindPasses(const std::vector<std::string>& names, std::vector<Pass>& passes,
                              Diagnostics& diagnostics);

/// Runs the passes in order on a verified module. False after an error of the input. In debug
/// builds and with `--verify-each`, a pass that leaves an invalid module behind is an internal
/// error.
[[nodiscard]] bool RunPasses(Module& module, const std::vector<Pass>& passes,
                             const LoweringOptions& options, PhaseTimer& timer, Session& session);

/// Proves of the kernels what their graphs are proved to be, and the memory plan, on threads of its
/// own while the phases that follow run: a toolchain takes longer.
class KernelProof {
 public:
  /// All must outlive it. No one may change the module before `Finish`.
  KernelProof(const Module& module, bool remarks, const ProofReport& graphs, Session& session);

  /// Waits for the end. What the proof found stands before what the session collected meanwhile,
  /// and in the place of it where a kernel is wrong; then there is no report. That a kernel is
  /// wrong whose graph is proved is an internal error.
  [[nodiscard]] std::optional<ProofReport> Finish(PhaseTimer& timer);

 private:
  const ProofReport& graphs_;
  Session& session_;
  Diagnostics before_;       // of the session
  Diagnostics diagnostics_;  // of the proof
  PhaseTimer::Clock::duration took_{};
  std::future<ProofReport> report_;  // last: destroyed, and so waited for, before what it uses
};

}  // namespace etc
