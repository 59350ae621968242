// `etc check`: parse → constants → verify → prove.
#include "analysis/proofs.h"
#include "driver/commands.h"
#include "driver/front.h"
#include "schedule/lower.h"

namespace etc {

ExitCode Execute(const CheckOptions& options) {
  Session session(options.source.diagnostics);
  auto module = LoadModule(options.source, session);
  if (module && !options.proofs.skip) {
    ScheduleOptions schedule;
    schedule.remarks = options.proofs.remarks;
    if (!DeriveEvents(*module, schedule, session.diagnostics())) {
      return session.Finish();
    }
    (void)Prove(*module, options.proofs.remarks, session.diagnostics());
  }
  return session.Finish(module ? ExitCode::Ok : ExitCode::InputWrong);
}

}  // namespace etc
