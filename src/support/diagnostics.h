// Diagnostics are collected by the phases and rendered once, by the driver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace etc {

enum class DiagnosticKind : uint8_t {
#define ETC_DIAGNOSTIC(name, text) name,
#include "support/diagnostic_kinds.def"
#undef ETC_DIAGNOSTIC
};

/// The name printed in brackets after a message, for example `event-count`.
std::string_view Name(DiagnosticKind kind);

enum class Severity : uint8_t { Error, Warning, Remark };

struct Note {
  SourceRange range;
  std::string message;
};

/// Text that a fix puts into the source.
struct Insertion {
  uint32_t at = 0;  // byte offset in the source
  std::string text;
  bool line = false;  // on a line of its own, indented like the one that it stands before
};

struct Diagnostic {
  Severity severity = Severity::Error;
  DiagnosticKind kind{};
  SourceRange range;
  std::string message;  // lower case, no full stop, code in backticks
  std::vector<Note> notes;
  std::vector<Insertion> fix =
      {};  // what removes the cause, all together; empty where none is known
};

/// Whether there is a fix, and all of it goes into the file itself, not into a text that it
/// imports.
bool IsForFile(const std::vector<Insertion>& fix, const SourceFile& source);
/// The text with all insertions made.
std::string ApplyFix(std::string text, std::vector<Insertion> fix);

class Diagnostics {
 public:
  /// No one reads more errors than this; those that come later are only counted.
  static constexpr size_t kMaxErrors = 1000;

  /// Adds an error. The reference is valid until the next one is added: chain `.notes.push_back`.
  Diagnostic& Error(DiagnosticKind kind, SourceRange range, std::string message);
  Diagnostic& Warning(DiagnosticKind kind, SourceRange range, std::string message);
  Diagnostic& Remark(DiagnosticKind kind, SourceRange range, std::string message);

  /// Adds one that was collected elsewhere.
  void Add(Diagnostic diagnostic);
  void Add(const Diagnostics& others);

  bool HasErrors() const { return error_count_ > 0; }
  size_t error_count() const { return error_count_; }
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  Diagnostic& Add(Severity severity, DiagnosticKind kind, SourceRange range, std::string message);

  std::vector<Diagnostic> all_;
  Diagnostic dropped_;
  size_t error_count_ = 0;
};

/// `file:line:col: error: … [kind]`, the source line, a caret range, then the notes alike, in
/// source order. A diagnostic without a position prints `etc: error: … [kind]`.
std::string RenderText(const Diagnostics& diagnostics, const SourceFile* source);

/// One JSON array of objects {severity, kind, message, file, line, column, end_line, end_column,
/// notes: […], fix: […]}; the position keys are absent where there is none, and so is an empty fix.
std::string RenderJson(const Diagnostics& diagnostics, const SourceFile* source);

/// A defect of the compiler itself: prints file, line and `message`, asks for a report, and exits
/// with status 70.
[[noreturn]] void InternalError(const char* file, int line, std::string_view message);

}  // namespace etc

/// Checks an invariant of the compiler; never for anything that input can cause.
#define ETC_CHECK(condition)                                                 \
  do {                                                                       \
    if (!(condition)) {                                                      \
      ::etc::InternalError(__FILE__, __LINE__, "check failed: " #condition); \
    }                                                                        \
  } while (false)
