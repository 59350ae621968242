// A proof that runs while other phases do.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <string>

#include "analysis/proofs/proofs.h"
#include "compile/phase_timer.h"
#include "compile/session.h"

namespace etc {

/// Starts on a thread of its own. Its findings stand before those that the session collects from
/// then on, and replace them where one of its own is an error.
class ProofBeside {
 public:
  /// The report, and errors where there is something wrong.
  using Prove = std::function<ProofReport(Diagnostics&)>;

  /// What `first` finds wrong, if that is given, takes the place of all that this one finds.
  /// `in_vain` is set where there is something wrong. All must outlive the proof.
  ProofBeside(std::string name, Prove prove, Session& session, std::atomic<bool>& in_vain,
              const ProofBeside* first = nullptr);

  /// Waits for the end. Nothing where something is wrong.
  const std::optional<ProofReport>& Report() const { return report_.get(); }
  /// Waits for the end, and puts what was found into its place in the session.
  void Finish(PhaseTimer& timer);

 private:
  std::string name_;
  Prove prove_;
  Session& session_;
  Diagnostics before_;       // of the session
  Diagnostics diagnostics_;  // of the proof
  PhaseTimer::Clock::duration took_{};
  // Last: destroyed, and so waited for, before what it uses.
  std::shared_future<std::optional<ProofReport>> report_;
};

}  // namespace etc
