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
/// for, and with those that the texts around these were copied for.
Diagnostics Session::WithCalls() const {
  Diagnostics noted;
  for (Diagnostic diagnostic : diagnostics_.all()) {
    if (diagnostic.range.IsValid()) {
      std::vector<Note> calls;
      AddCalls(diagnostic.range, calls);
      diagnostic.notes.insert(diagnostic.notes.end(), calls.begin(), calls.end());
    }
    noted.Add(std::move(diagnostic));
  }
  return noted;
}

void Session::AddCalls(SourceRange range, std::vector<Note>& calls) const {
  constexpr size_t kMostCalls = 3;
  for (const Expansion& expansion : expansions_) {
    Note note{expansion.call, fmt::format("`{}` stands for this call", expansion.callee)};
    bool is_new = std::ranges::none_of(calls, [&](const Note& other) {
      return other.range == note.range && other.message == note.message;
    });
    if (expansion.text.Contains(range) && is_new && calls.size() < kMostCalls) {
      calls.push_back(std::move(note));
      AddCalls(expansion.call, calls);
    }
  }
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
