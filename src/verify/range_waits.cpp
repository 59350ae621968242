// Ranges of tasks that a share of a kernel reads from a tensor which another share writes: every
// role of every SM reads them, and waits under `ranges` before it does.
#include <fmt/format.h>

#include <vector>

#include "analysis/program.h"
#include "ir/walk.h"
#include "verify/checks.h"

namespace etc {
namespace {

/// A call of the program that writes what the ranges are read from, or null.
const ProgramCall* WriterOf(const Module& module, const CallProgram& program,
                            const std::vector<Axis>& axes, TensorId* written) {
  for (const ProgramCall& call : program.calls) {
    for (size_t i = 0; i < call.args.size(); ++i) {
      bool writes = module.tensors[call.device->params[i]].access != Access::In;
      if (writes && ReadsTensor(module, axes, call.args[i].tensor) &&
          MayHaveTasks(module, program, call)) {
        *written = call.args[i].tensor;
        return &call;
      }
    }
  }
  return nullptr;
}

}  // namespace

/// The wait of a share is one of every SM, and so holds for the shares behind it. A pushed case is
/// behind its push.
void CheckRangeWaits(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  const CallProgram program = MakeCallProgram(module, kernel);
  if (program.launches) {
    return;
  }
  for (const ProgramCall& call : program.calls) {
    const auto& share = std::get<Share>(module.nodes[call.node]);
    if (!share.range_waits.empty()) {
      return;
    }
    TensorId written;
    const ProgramCall* writer =
        share.pushed_by ? nullptr : WriterOf(module, program, share.axes, &written);
    if (writer != nullptr) {
      const std::string& name = module.tensors[written].name;
      Diagnostic& error = diagnostics.Error(
          DiagnosticKind::EventOrder, call.range,
          fmt::format("`@{}` reads its task range from `%{}`, which `@{}` writes, but no share up "
                      "to this one waits under `ranges`",
                      call.device->name, name, writer->device->name));
      error.notes.push_back(
          {writer->range, fmt::format("`@{}` writes it here", writer->device->name)});
      return;
    }
  }
}

}  // namespace etc
