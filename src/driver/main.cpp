// etc, the Event Tensor Compiler: command line → one subcommand → exit code.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "driver/commands.h"
#include "driver/large_pages.h"
#include "driver/options.h"
#include "support/diagnostics.h"
#include "support/sanitized.h"
#include "support/stack.h"
#include "support/termination.h"

namespace {

/// Leaves all memory to the system as it is, which a large compilation notices. Sanitizers look for
/// leaks on the ordinary way out.
void EndNow(etc::ExitCode code) {
  if constexpr (!etc::kIsSanitized) {
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code));
  }
}

}  // namespace

int main(int argc, char** argv) {
  etc::UseDeepStacks();
  etc::EndCleanly();
  try {
    auto parsed = etc::ParseCommandLine(argc, argv);
    if (const auto* code = std::get_if<etc::ExitCode>(&parsed)) {
      return static_cast<int>(*code);
    }
    bool compiles = std::holds_alternative<etc::CompileOptions>(std::get<etc::Command>(parsed));
    if (compiles) {
      etc::UseLargePages();
    }
    etc::ExitCode code = std::visit([](const auto& options) { return etc::Execute(options); },
                                    std::get<etc::Command>(parsed));
    if (compiles) {
      EndNow(code);
    }
    return static_cast<int>(code);
  } catch (const std::exception& error) {
    etc::InternalError(__FILE__, __LINE__, error.what());
  }
}
