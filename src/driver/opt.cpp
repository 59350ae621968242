// `etc opt`: load → the passes asked for, or those of `etc compile` → print.
#include <fmt/format.h>

#include "compile/front.h"
#include "compile/pipeline.h"
#include "driver/commands.h"
#include "driver/output_files.h"
#include "ir/printer.h"
#include "support/files.h"

namespace etc {
namespace {

std::string PassList() {
  std::string text;
  for (const Pass& pass : AllPasses()) {
    text += fmt::format("{:<16} {}\n", pass.name, pass.summary);
  }
  return text;
}

}  // namespace

ExitCode Execute(const OptOptions& options) {
  Session session(options.source.diagnostics);
  if (options.list_passes) {
    (void)WriteStdout(PassList(), session.diagnostics());
    return session.Finish();
  }
  std::vector<Pass> passes;
  if (!CheckOutputs({options.output}, SettingsOf(options.source), session) ||
      !FindPasses(options.passes, passes, session.diagnostics())) {
    return session.Finish();
  }
  PhaseTimer timer;
  auto module = LoadModule(options.source, session);
  LoweringOptions lowering = options.lowering;
  lowering.schedule.flag_in_data = options.arch != Arch::Host;
  if (module && options.passes.empty()) {
    passes = PassesFor(*module, lowering.schedule);
  }
  if (module && RunPasses(*module, passes, lowering, timer, session)) {
    (void)WriteText(options.output, Print(*module), session.diagnostics());
  }
  return session.Finish();
}

}  // namespace etc
