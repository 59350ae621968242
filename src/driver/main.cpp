// etc, the Event Tensor Compiler: command line → one subcommand → exit code.
#include <exception>

#include "driver/commands.h"
#include "driver/options.h"
#include "support/diagnostics.h"
#include "support/stack.h"
#include "support/termination.h"

int main(int argc, char** argv) {
  etc::UseDeepStacks();
  etc::EndCleanly();
  try {
    auto parsed = etc::ParseCommandLine(argc, argv);
    if (const auto* code = std::get_if<etc::ExitCode>(&parsed)) {
      return static_cast<int>(*code);
    }
    etc::ExitCode code = std::visit([](const auto& options) { return etc::Execute(options); },
                                    std::get<etc::Command>(parsed));
    return static_cast<int>(code);
  } catch (const std::exception& error) {
    etc::InternalError(__FILE__, __LINE__, error.what());
  }
}
