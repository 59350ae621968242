// `etc fmt`: the canonical text of a source.
#include <fmt/format.h>

#include <algorithm>

#include "compile/front.h"
#include "compile/include_path.h"
#include "driver/commands.h"
#include "ir/printer.h"
#include "support/files.h"
#include "text/parser.h"

namespace etc {
namespace {

/// The canonical text, after a check that it means something: a formatter must never lose a
/// program.
std::string Format(const Module& module, const std::string& file,
                   const std::vector<std::string>& include_dirs) {
  std::string text = Print(module);
  SourceFile printed(DisplayName(file), text);
  Diagnostics diagnostics;
  auto again =
      Parse(printed, IncludePath(include_dirs).Imports(), diagnostics, AbsentImports::Assumed);
  if (!again) {
    InternalError(__FILE__, __LINE__,
                  "the formatted text does not parse\n" + RenderText(diagnostics, &printed));
  }
  return text;
}

/// Where two texts begin to differ, as one byte of `text`: the last one where the other goes on.
SourceRange FirstDifference(std::string_view text, std::string_view other) {
  auto [at, unused] = std::mismatch(text.begin(), text.end(), other.begin(), other.end());
  auto offset = static_cast<uint32_t>(std::min<size_t>(at - text.begin(), text.size() - 1));
  return {offset, offset + 1};
}

ExitCode FormatFile(const std::string& file, const FmtOptions& options) {
  Session session(options.diagnostics);
  SourceOptions from;
  from.file = file;
  from.include_dirs = options.include_dirs;
  auto module = ParseSource(from, session, AbsentImports::Assumed);
  if (!module) {
    return session.Finish(ExitCode::InputWrong);
  }
  std::string text = Format(*module, file, options.include_dirs);
  std::string_view source = session.source()->text();
  if (options.check) {
    if (text != source) {
      session.diagnostics().Error(
          DiagnosticKind::Mismatch, FirstDifference(source, text),
          fmt::format("not formatted; `etc fmt -i {}` rewrites the file", file));
    }
  } else if (!options.in_place) {
    (void)WriteStdout(text, session.diagnostics());
  } else if (text != source) {
    (void)WriteText(file, text, session.diagnostics());
  }
  return session.Finish();
}

}  // namespace

ExitCode Execute(const FmtOptions& options) {
  ExitCode code = ExitCode::Ok;
  for (const std::string& file : options.files) {
    code = std::max(code, FormatFile(file, options));
  }
  return code;
}

}  // namespace etc
