#include "compile/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "support/internal_errors.h"
#include "support/stderr.h"

namespace etc {

Session::Session(DiagnosticsFormat format) : format_(format) {
  SetInternalErrorsAsJson(format == DiagnosticsFormat::Json);
}

SourceFile& Session::SetSource(std::string name, std::string text) {
  source_ = std::make_unique<SourceFile>(std::move(name), std::move(text));
  return *source_;
}

/// Each diagnostic about a text that was copied gets a note with the first calls that it was copied
/// for.
Diagnostics Session::WithCalls() const {
  constexpr size_t kMostCalls = 3;
  Diagnostics noted;
  for (Diagnostic diagnostic : diagnostics_.all()) {
    size_t calls = 0;
    for (const Expansion& expansion : expansions_) {
      if (diagnostic.range.IsValid() && expansion.text.Contains(diagnostic.range) &&
          calls++ < kMostCalls) {
        diagnostic.notes.push_back(
            {expansion.call, fmt::format("`{}` stands for this call", expansion.callee)});
      }
    }
    noted.Add(std::move(diagnostic));
  }
  return noted;
}

ExitCode Session::Finish(ExitCode otherwise) {
  ExitCode code = otherwise;
  if (diagnostics_.HasErrors()) {
    code = ExitCode::Ok;
    for (const Diagnostic& diagnostic : diagnostics_.all()) {
      if (diagnostic.severity == Severity::Error) {
        code = std::max(code, ExitCodeOf(diagnostic.kind));
      }
    }
  }
  std::fflush(stdout);
  if (format_ == DiagnosticsFormat::Json) {
    PrintToStderr("{}", RenderJson(WithCalls(), source_.get()));
    return code;
  }
  PrintToStderr("{}", RenderText(WithCalls(), source_.get()));
  if (size_t errors = diagnostics_.error_count(); errors > 0) {
    PrintToStderr("{} error{}{}\n", errors, errors == 1 ? "" : "s",
                  errors > Diagnostics::kMaxErrors
                      ? fmt::format(", the first {} of them shown", Diagnostics::kMaxErrors)
                      : "");
  }
  return code;
}

ExitCode ExitCodeOf(DiagnosticKind kind) {
  switch (kind) {
    case DiagnosticKind::CommandLine:
    case DiagnosticKind::Define:
      return ExitCode::CommandLineWrong;
    case DiagnosticKind::BoundsProof:
    case DiagnosticKind::OperandProof:
    case DiagnosticKind::CountProof:
    case DiagnosticKind::OrderProof:
    case DiagnosticKind::Race:
    case DiagnosticKind::IterationRace:
    case DiagnosticKind::Coverage:
      return ExitCode::ProofFailed;
    case DiagnosticKind::Toolchain:
    case DiagnosticKind::Spill:
      return ExitCode::ToolchainFailed;
    case DiagnosticKind::Device:
      return ExitCode::DeviceFailed;
    default:
      return ExitCode::InputWrong;
  }
}

}  // namespace etc
