// `etc check`: parse → constants → verify, and nothing else.
#include "driver/commands.h"
#include "driver/front.h"

namespace etc {

ExitCode Execute(const CheckOptions& options) {
  Session session(options.source.diagnostics);
  auto module = LoadModule(options.source, session);
  return session.Finish(module ? ExitCode::Ok : ExitCode::InputWrong);
}

}  // namespace etc
