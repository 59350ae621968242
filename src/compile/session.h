// One run of a subcommand: what it found wrong, in which text, and how it ends.
#pragma once

#include <memory>
#include <string>

#include "compile/exit_code.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace etc {

enum class DiagnosticsFormat { Text, Json };

class Session {
 public:
  explicit Session(DiagnosticsFormat format);

  Diagnostics& diagnostics() { return diagnostics_; }

  /// The text that the diagnostics' ranges are positions in.
  const SourceFile& SetSource(std::string name, std::string text);
  /// Null before SetSource.
  const SourceFile* source() const { return source_.get(); }

  /// Renders the diagnostics to stderr, once, and yields the exit code that the gravest asks for.
  /// `otherwise` is the exit code where there is no error.
  [[nodiscard]] ExitCode Finish(ExitCode otherwise = ExitCode::Ok);

 private:
  DiagnosticsFormat format_;
  Diagnostics diagnostics_;
  std::unique_ptr<SourceFile> source_;
};

/// The exit code for a kind of error.
[[nodiscard]] ExitCode ExitCodeOf(DiagnosticKind kind);

}  // namespace etc
