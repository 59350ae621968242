#include "support/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "support/internal_errors.h"
#include "support/stderr.h"

namespace etc {

std::string_view Name(DiagnosticKind kind) {
  switch (kind) {
#define ETC_DIAGNOSTIC(name, text) \
  case DiagnosticKind::name:       \
    return text;
#include "support/diagnostic_kinds.def"
#undef ETC_DIAGNOSTIC
  }
  InternalError(__FILE__, __LINE__, "a diagnostic of no kind");
}

Diagnostic& Diagnostics::Error(DiagnosticKind kind, SourceRange range, std::string message) {
  if (++error_count_ > kMaxErrors) {
    dropped_ = {};
    return dropped_;
  }
  return Add(Severity::Error, kind, range, std::move(message));
}

Diagnostic& Diagnostics::Warning(DiagnosticKind kind, SourceRange range, std::string message) {
  return Add(Severity::Warning, kind, range, std::move(message));
}

Diagnostic& Diagnostics::Remark(DiagnosticKind kind, SourceRange range, std::string message) {
  return Add(Severity::Remark, kind, range, std::move(message));
}

void Diagnostics::Add(Diagnostic diagnostic) {
  if (diagnostic.severity != Severity::Error || ++error_count_ <= kMaxErrors) {
    all_.push_back(std::move(diagnostic));
  }
}

void Diagnostics::Add(const Diagnostics& others) {
  size_t errors = error_count_ + others.error_count_;
  for (const Diagnostic& diagnostic : others.all_) {
    Add(diagnostic);
  }
  error_count_ = errors;
}

Diagnostic& Diagnostics::Add(Severity severity, DiagnosticKind kind, SourceRange range,
                             std::string message) {
  all_.push_back({severity, kind, range, std::move(message), {}});
  return all_.back();
}

namespace {

using Out = std::back_insert_iterator<std::string>;

std::string_view Spelling(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Remark:
      return "remark";
  }
  InternalError(__FILE__, __LINE__, "a diagnostic of no severity");
}

/// In source order; diagnostics without a position come last, each group in order of report.
std::vector<const Diagnostic*> Sorted(const Diagnostics& diagnostics) {
  std::vector<const Diagnostic*> sorted;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    sorted.push_back(&diagnostic);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    if (a->range.IsValid() != b->range.IsValid()) {
      return a->range.IsValid();
    }
    return a->range.begin < b->range.begin;
  });
  return sorted;
}

bool HasPosition(SourceRange range, const SourceFile* source) {
  return source != nullptr && range.IsValid() && range.end <= source->end();
}

/// Columns of a terminal that `text` takes: one for each code point.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

/// What stands before the caret: tabs stay tabs, so that it lines up with the line above.
std::string Padding(std::string_view before) {
  std::string padding;
  for (char c : before) {
    if (c == '\t') {
      padding += '\t';
    } else if ((static_cast<unsigned char>(c) >> 6) != 2) {
      padding += ' ';
    }
  }
  return padding;
}

/// The first byte at or behind `offset` that starts a code point, or the end.
size_t CodePoint(std::string_view text, size_t offset) {
  while (offset < text.size() && (static_cast<unsigned char>(text[offset]) >> 6) == 2) {
    ++offset;
  }
  return offset;
}

/// Bytes of a source line that are shown, and how many of them at most in front of the range.
constexpr size_t kShownOfLine = 240;
constexpr size_t kShownBefore = 100;

/// The source line and, under it, the part of the range on that line; of a very long line what
/// stands around the range.
void RenderSnippet(std::string& text, SourceRange range, const SourceFile& source) {
  LineColumn start = source.Locate(range.begin);
  std::string_view line = source.LineAt(range.begin);
  size_t from = std::min<size_t>(start.column - 1, line.size());
  bool whole = line.size() <= kShownOfLine;
  size_t first = whole || from <= kShownBefore ? 0 : CodePoint(line, from - kShownBefore);
  size_t last = whole ? line.size() : CodePoint(line, std::min(first + kShownOfLine, line.size()));
  size_t length = std::min<size_t>(range.end - range.begin, last - from);
  size_t width = std::max<size_t>(Width(line.substr(from, length)), 1);
  fmt::format_to(Out(text), " {:5} | {}{}{}\n", start.line, first > 0 ? "…" : "",
                 line.substr(first, last - first), last < line.size() ? "…" : "");
  fmt::format_to(Out(text), "       | {}{}^{}\n", first > 0 ? " " : "",
                 Padding(line.substr(first, from - first)), std::string(width - 1, '~'));
}

/// What is quoted in a message at most, in bytes: a name may have a million.
constexpr size_t kShownOfQuote = 200;

/// The message with the middle of each long quotation left out.
std::string Shortened(std::string_view message) {
  std::string text;
  while (!message.empty()) {
    size_t open = message.find('`');
    size_t close = open == std::string_view::npos ? open : message.find('`', open + 1);
    if (close == std::string_view::npos) {
      break;
    }
    std::string_view quoted = message.substr(open + 1, close - open - 1);
    text += message.substr(0, open + 1);
    if (quoted.size() > kShownOfQuote) {
      size_t first = CodePoint(quoted, kShownOfQuote / 2);
      size_t last = CodePoint(quoted, quoted.size() - kShownOfQuote / 4);
      text += quoted.substr(0, first);
      text += "…";
      text += quoted.substr(last);
    } else {
      text += quoted;
    }
    text += '`';
    message.remove_prefix(close + 1);
  }
  return text + std::string(message);
}

void RenderMessage(std::string& text, std::string_view severity, SourceRange range,
                   std::string_view message, std::string_view kind, const SourceFile* source) {
  bool positioned = HasPosition(range, source);
  if (positioned) {
    LineColumn start = source->Locate(range.begin);
    fmt::format_to(Out(text), "{}:{}:{}: ", source->NameAt(range.begin), start.line, start.column);
  } else {
    text += "etc: ";
  }
  fmt::format_to(Out(text), "{}: {}{}\n", severity, Shortened(message), kind);
  if (positioned) {
    RenderSnippet(text, range, *source);
  }
}

/// A JSON string. Bytes that are not UTF-8 become U+FFFD, so that the output always is.
std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (size_t i = 0; i < text.size();) {
    auto c = static_cast<unsigned char>(text[i]);
    size_t length = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    bool whole = length > 0 && i + length <= text.size();
    for (size_t k = 1; whole && k < length; ++k) {
      whole = (static_cast<unsigned char>(text[i + k]) >> 6) == 2;
    }
    if (!whole) {
      quoted += "\\ufffd";
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += text[i];
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c < 0x20 || c == 0x7f) {
      fmt::format_to(Out(quoted), "\\u{:04x}", c);
    } else {
      quoted += text.substr(i, length);
    }
    i += length;
  }
  quoted += '"';
  return quoted;
}

void RenderPosition(std::string& json, SourceRange range, const SourceFile* source) {
  if (!HasPosition(range, source)) {
    return;
  }
  LineColumn start = source->Locate(range.begin);
  LineColumn end = source->Locate(range.end);
  fmt::format_to(Out(json),
                 ", \"file\": {}, \"line\": {}, \"column\": {}, \"end_line\": {}, "
                 "\"end_column\": {}",
                 Quote(source->NameAt(range.begin)), start.line, start.column, end.line,
                 end.column);
}

std::string RenderFix(const std::vector<Insertion>& fix) {
  std::string json;
  for (const Insertion& insertion : fix) {
    fmt::format_to(Out(json), "{}{{\"offset\": {}, \"text\": {}, \"own_line\": {}}}",
                   json.empty() ? ", \"fix\": [" : ", ", insertion.at, Quote(insertion.text),
                   insertion.line);
  }
  return json + "]";
}

}  // namespace

bool IsForFile(const std::vector<Insertion>& fix, const SourceFile& source) {
  return !fix.empty() && std::ranges::all_of(fix, [&](const Insertion& insertion) {
    return insertion.at <= source.text().size();
  });
}

std::string ApplyFix(std::string text, std::vector<Insertion> fix) {
  std::stable_sort(fix.begin(), fix.end(),
                   [](const Insertion& a, const Insertion& b) { return a.at < b.at; });
  for (size_t i = fix.size(); i-- > 0;) {
    size_t at = fix[i].at;
    if (!fix[i].line) {
      text.insert(at, fix[i].text);
      continue;
    }
    size_t start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    size_t indent = text.find_first_not_of(" \t", start) - start;
    text.insert(start, text.substr(start, indent) + fix[i].text + "\n");
  }
  return text;
}

std::string RenderText(const Diagnostics& diagnostics, const SourceFile* source) {
  std::string text;
  for (const Diagnostic* diagnostic : Sorted(diagnostics)) {
    RenderMessage(text, Spelling(diagnostic->severity), diagnostic->range, diagnostic->message,
                  fmt::format(" [{}]", Name(diagnostic->kind)), source);
    for (const Note& note : diagnostic->notes) {
      RenderMessage(text, "note", note.range, note.message, "", source);
    }
  }
  return text;
}

std::string RenderJson(const Diagnostics& diagnostics, const SourceFile* source) {
  std::string json = "[";
  std::string_view separator = "\n";
  for (const Diagnostic* diagnostic : Sorted(diagnostics)) {
    fmt::format_to(Out(json), "{}  {{\"severity\": {}, \"kind\": {}, \"message\": {}", separator,
                   Quote(Spelling(diagnostic->severity)), Quote(Name(diagnostic->kind)),
                   Quote(Shortened(diagnostic->message)));
    RenderPosition(json, diagnostic->range, source);
    json += ", \"notes\": [";
    std::string_view note_separator;
    for (const Note& note : diagnostic->notes) {
      fmt::format_to(Out(json), "{}{{\"message\": {}", note_separator,
                     Quote(Shortened(note.message)));
      RenderPosition(json, note.range, source);
      json += '}';
      note_separator = ", ";
    }
    json += "]";
    if (source != nullptr && IsForFile(diagnostic->fix, *source)) {
      json += RenderFix(diagnostic->fix);
    }
    json += "}";
    separator = ",\n";
  }
  json += "\n]\n";
  return json;
}

namespace {

/// Known where a command begins; what fails later may be anywhere, and in any thread.
std::atomic<bool> internal_errors_as_json = false;

}  // namespace

void SetInternalErrorsAsJson(bool json) { internal_errors_as_json = json; }

void InternalError(const char* file, int line, std::string_view message) {
  if (internal_errors_as_json) {
    PrintToStderr(
        "[\n  {{\"severity\": \"error\", \"kind\": \"internal\", \"message\": {}, \"notes\": "
        "[{{\"message\": {}}}]}}\n]\n",
        Quote(fmt::format("internal error at {}:{}: {}", file, line, message)),
        Quote("this is a defect of the compiler: please report it with the input"));
    std::exit(70);
  }
  PrintToStderr(
      "etc: internal error at {}:{}: {}\n"
      "etc: this is a defect of the compiler: please report it with the input\n",
      file, line, message);
  std::exit(70);
}

}  // namespace etc
