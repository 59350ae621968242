#include "compile/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

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
/// for, and with those that the texts around these were copied for. What several copies have in
/// common stands there once.
Diagnostics Session::WithCalls() const {
  Diagnostics noted;
  std::set<std::string> known;
  for (Diagnostic diagnostic : diagnostics_.all()) {
    if (diagnostic.range.IsValid()) {
      std::vector<Note> calls;
      AddCalls(diagnostic.range, calls);
      diagnostic.notes.insert(diagnostic.notes.end(), calls.begin(), calls.end());
    }
    std::string text =
        fmt::format("{} {} {} {}", static_cast<int>(diagnostic.severity), diagnostic.range.begin,
                    diagnostic.range.end, diagnostic.message);
    for (const Note& note : diagnostic.notes) {
      text += fmt::format("\n{} {} {}", note.range.begin, note.range.end, note.message);
    }
    if (known.insert(std::move(text)).second) {
      noted.Add(std::move(diagnostic));
    }
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
  const Diagnostics noted = WithCalls();
  if (format_ == DiagnosticsFormat::Json) {
    PrintToStderr("{}", RenderJson(noted, source_.get()));
    return code;
  }
  PrintToStderr("{}", RenderText(noted, source_.get()));
  const bool has_more = diagnostics_.error_count() > Diagnostics::kMaxErrors;
  const size_t errors = has_more ? diagnostics_.error_count() : noted.error_count();
  if (errors > 0) {
    PrintToStderr(
        "{} error{}{}\n", errors, errors == 1 ? "" : "s",
        has_more ? fmt::format(", the first {} of them shown", Diagnostics::kMaxErrors) : "");
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
