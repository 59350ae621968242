#include "compile/proof_beside.h"

#include <utility>

namespace etc {

ProofBeside::ProofBeside(std::string name, Prove prove, Session& session,
                         std::atomic<bool>& in_vain, const ProofBeside* first)
    : name_(std::move(name)),
      prove_(std::move(prove)),
      session_(session),
      before_(std::exchange(session.diagnostics(), {})),
      // Deferred where the system gives no thread.
      report_(std::async(std::launch::async | std::launch::deferred, [this, &in_vain, first] {
        PhaseTimer::Clock::time_point start = PhaseTimer::Clock::now();
        std::optional<ProofReport> report = prove_(diagnostics_);
        took_ = PhaseTimer::Clock::now() - start;
        if (first != nullptr && !first->Report()) {
          diagnostics_ = {};
          report.reset();
        } else if (diagnostics_.HasErrors()) {
          in_vain = true;
          report.reset();
        }
        return report;
      })) {}

void ProofBeside::Finish(PhaseTimer& timer) {
  bool right = timer.Time("wait for proofs", [&] { return Report().has_value(); });
  timer.NoteBeside(name_, took_);
  Diagnostics behind = std::exchange(session_.diagnostics(), std::move(before_));
  session_.diagnostics().Add(diagnostics_);
  if (right) {
    session_.diagnostics().Add(behind);
  }
}

}  // namespace etc
