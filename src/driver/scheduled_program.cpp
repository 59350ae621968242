#include "driver/scheduled_program.h"

#include <fmt/format.h>

#include <utility>

#include "compile/front.h"
#include "compile/pipeline.h"
#include "driver/routing_option.h"
#include "support/assignments.h"

namespace etc {

std::optional<ScheduledProgram> LoadScheduled(const QueryOptions& options, Session& session) {
  auto sizes = ParseIntAssignments(options.dims, "--dim", session.diagnostics());
  auto values = ParseIntAssignments(options.values, "--value", session.diagnostics());
  std::optional<Routing> routing;
  if (!options.routing.empty() &&
      !(routing = ParseRouting(options.routing, session.diagnostics()))) {
    return std::nullopt;
  }
  auto module = sizes && values ? LoadModule(options.source, session, *sizes) : nullptr;
  LoweringOptions lowering = options.lowering;
  lowering.schedule.flag_in_data = true;
  PhaseTimer timer;
  if (!module || !HasProgram(*module, session) ||
      !RunPasses(*module, PassesFor(*module, lowering.schedule), lowering, timer, session)) {
    return std::nullopt;
  }
  return ScheduledProgram{std::move(module), std::move(*sizes), std::move(*values),
                          std::move(routing)};
}

void ReportMismatch(const QueryOptions& options, const std::string& mismatch, Session& session) {
  session.diagnostics().Error(DiagnosticKind::Data, {},
                              fmt::format("`--routing {}`: {}", options.routing, mismatch));
}

}  // namespace etc
