// etc, the Event Tensor Compiler: command line → one subcommand → exit code.
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "compile/session.h"
#include "driver/commands.h"
#include "driver/large_pages.h"
#include "driver/options.h"
#include "support/diagnostics.h"
#include "support/sanitized.h"
#include "support/stack.h"
#include "support/termination.h"

namespace {

/// A file that is opened later must not get the number of a standard stream that is closed.
void KeepStandardNumbers() {
  for (int number : {0, 1, 2}) {
    if (fcntl(number, F_GETFD) < 0) {
      (void)open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);  // the other way is an error
    }
  }
}

/// Leaves all memory to the system as it is, which a large compilation notices. Sanitizers look for
/// leaks on the ordinary way out.
void EndNow(etc::ExitCode code) {
  if constexpr (!etc::kIsSanitized) {
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code));
  }
}

template <class Options>
etc::DiagnosticsFormat FormatOf(const Options& options) {
  if constexpr (requires { options.source.diagnostics; }) {
    return options.source.diagnostics;
  } else if constexpr (requires { options.diagnostics; }) {
    return options.diagnostics;
  } else {
    return etc::DiagnosticsFormat::Text;
  }
}

/// What this machine has too little of is no defect of etc.
template <class Options>
etc::ExitCode Run(const Options& options) {
  const char* missing = "the memory of this machine does not suffice";
  try {
    return etc::Execute(options);
  } catch (const std::bad_alloc&) {
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) {
      throw;
    }
    missing = "this machine gives no more threads";
  }
  etc::Session session(FormatOf(options));
  session.diagnostics().Error(etc::DiagnosticKind::Device, {}, missing);
  return session.Finish();
}

}  // namespace

int main(int argc, char** argv) {
  KeepStandardNumbers();
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
    etc::ExitCode code = std::visit([](const auto& options) { return Run(options); },
                                    std::get<etc::Command>(parsed));
    if (compiles) {
      EndNow(code);
    }
    return static_cast<int>(code);
  } catch (const std::exception& error) {
    etc::InternalError(__FILE__, __LINE__, error.what());
  }
}
