// One run of a subcommand: what it found wrong, in which text, and how it ends.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compile/exit_code.h"
#include "expand/tuned_schedule.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace etc {

enum class DiagnosticsFormat { Text, Json };

class Session {
 public:
  explicit Session(DiagnosticsFormat format);

  Diagnostics& diagnostics() { return diagnostics_; }

  /// The text that the diagnostics' ranges are positions in.
  SourceFile& SetSource(std::string name, std::string text);
  /// Null before SetSource.
  const SourceFile* source() const { return source_.get(); }

  /// Files that the source imports, beside those built into etc.
  void SetImports(std::vector<std::string> files) { imports_ = std::move(files); }
  const std::vector<std::string>& imports() const { return imports_; }

  /// Files that the command writes: none that the source imports may be one of them.
  void SetOutputs(std::vector<std::string> files) { outputs_ = std::move(files); }
  const std::vector<std::string>& outputs() const { return outputs_; }

  /// The copies of texts that the module has: errors in them say for which calls.
  void SetExpansions(std::vector<Expansion> expansions) { expansions_ = std::move(expansions); }

  /// What a tuning says of schedules, for the passes over the module.
  void SetSchedules(std::vector<TunedSchedule> schedules) { schedules_ = std::move(schedules); }
  const std::vector<TunedSchedule>& schedules() const { return schedules_; }

  /// Renders the diagnostics to stderr, once, and yields the exit code that the gravest asks for.
  /// `otherwise` is the exit code where there is no error.
  [[nodiscard]] ExitCode Finish(ExitCode otherwise = ExitCode::Ok);

 private:
  Diagnostics WithCalls() const;
  void AddCalls(SourceRange range, std::vector<Note>& calls) const;

  DiagnosticsFormat format_;
  Diagnostics diagnostics_;
  std::unique_ptr<SourceFile> source_;
  std::vector<std::string> imports_;
  std::vector<std::string> outputs_;
  std::vector<Expansion> expansions_;
  std::vector<TunedSchedule> schedules_;
};

/// The exit code for a kind of error.
[[nodiscard]] ExitCode ExitCodeOf(DiagnosticKind kind);

}  // namespace etc
