#include "support/diagnostics.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/internal_errors.h"

namespace etc {
namespace {

TEST_CASE("text has the line, a caret range and the notes") {
  SourceFile source("m.etir", "etir 1;\nconst a = b;\n");
  Diagnostics diagnostics;
  diagnostics.Error(DiagnosticKind::UnknownName, {18, 19}, "no scalar `b` is defined here")
      .notes.push_back({{8, 13}, "in this constant"});
  CHECK(RenderText(diagnostics, &source) ==
        "m.etir:2:11: error: no scalar `b` is defined here [unknown-name]\n"
        "     2 | const a = b;\n"
        "       |           ^\n"
        "m.etir:2:1: note: in this constant\n"
        "     2 | const a = b;\n"
        "       | ^~~~~\n");
}

TEST_CASE("diagnostics come in source order, those without a position last") {
  SourceFile source("m.etir", "ab\ncd\n");
  Diagnostics diagnostics;
  diagnostics.Error(DiagnosticKind::File, {}, "no such file");
  diagnostics.Warning(DiagnosticKind::Type, {3, 4}, "second");
  diagnostics.Remark(DiagnosticKind::Structure, {0, 1}, "first");
  CHECK(RenderText(diagnostics, &source) ==
        "m.etir:1:1: remark: first [structure]\n     1 | ab\n       | ^\n"
        "m.etir:2:1: warning: second [type]\n     2 | cd\n       | ^\n"
        "etc: error: no such file [file]\n");
  CHECK(diagnostics.error_count() == 1);
  CHECK(diagnostics.all().size() == 3);
}

TEST_CASE("the caret lines up under tabs and wide bytes, and stops at the end of the line") {
  SourceFile source("m.etir", "\t// ×\t$$\nx\n");
  Diagnostics diagnostics;
  diagnostics.Error(DiagnosticKind::Lexical, {7, 11}, "unexpected");
  CHECK(RenderText(diagnostics, &source) ==
        "m.etir:1:8: error: unexpected [lexical]\n"
        "     1 | \t// ×\t$$\n"
        "       | \t    \t^~\n");
}

TEST_CASE("of a very long line the part around the range is shown") {
  std::string line = std::string(500, 'a') + "×bad×" + std::string(500, 'c');
  SourceFile source("m.etir", line);
  Diagnostics diagnostics;
  diagnostics.Error(DiagnosticKind::Lexical, {502, 505}, "unexpected");
  CHECK(RenderText(diagnostics, &source) ==
        "m.etir:1:503: error: unexpected [lexical]\n"
        "     1 | …" +
            std::string(98, 'a') + "×bad×" + std::string(135, 'c') +
            "…\n"
            "       | " +
            std::string(100, ' ') + "^~~\n");
}

TEST_CASE("errors beyond the limit are counted, not kept") {
  Diagnostics diagnostics;
  for (size_t i = 0; i < Diagnostics::kMaxErrors + 5; ++i) {
    diagnostics.Error(DiagnosticKind::Type, {}, "wrong").notes.push_back({{}, "n"});
  }
  diagnostics.Warning(DiagnosticKind::Type, {}, "careful");
  CHECK(diagnostics.error_count() == Diagnostics::kMaxErrors + 5);
  CHECK(diagnostics.all().size() == Diagnostics::kMaxErrors + 1);
}

TEST_CASE("without a source there are no positions") {
  Diagnostics diagnostics;
  diagnostics.Error(DiagnosticKind::Toolchain, {3, 4}, "nvrtc failed");
  CHECK(RenderText(diagnostics, nullptr) == "etc: error: nvrtc failed [toolchain]\n");
}

TEST_CASE("JSON has the positions and escapes strings") {
  SourceFile source("a \"b\".etir", "ab\ncd\n");
  Diagnostics diagnostics;
  diagnostics.Error(DiagnosticKind::Type, {3, 5}, "a \\ \"q\"\n\x01 \xff ×")
      .notes.push_back({{}, "n"});
  diagnostics.Error(DiagnosticKind::File, {}, "gone");
  CHECK(
      RenderJson(diagnostics, &source) ==
      "[\n  {\"severity\": \"error\", \"kind\": \"type\", \"message\": "
      "\"a \\\\ \\\"q\\\"\\n\\u0001 \\ufffd ×\", \"file\": \"a \\\"b\\\".etir\", \"line\": 2, "
      "\"column\": 1, \"end_line\": 2, \"end_column\": 3, \"notes\": [{\"message\": \"n\"}]},\n"
      "  {\"severity\": \"error\", \"kind\": \"file\", \"message\": \"gone\", \"notes\": []}\n]\n");
  CHECK(RenderJson(Diagnostics(), nullptr) == "[\n]\n");
}

TEST_CASE("every kind has a name of its own") {
  std::vector<std::string_view> names;
#define ETC_DIAGNOSTIC(name, text) names.push_back(Name(DiagnosticKind::name));
#include "support/diagnostic_kinds.def"
#include "support/internal_errors.h"
#undef ETC_DIAGNOSTIC
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      CHECK(names[i] != names[j]);
    }
  }
}

TEST_CASE("an internal error is an array of one error where diagnostics are JSON") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    SetInternalErrorsAsJson(true);
    InternalError("a.cpp", 3, "the \"check\"");
  }
  close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 70);
  CHECK(
      text ==
      "[\n  {\"severity\": \"error\", \"kind\": \"internal\", \"message\": \"internal error at "
      "a.cpp:3: the \\\"check\\\"\", \"notes\": [{\"message\": \"this is a defect of the compiler: "
      "please report it with the input\"}]}\n]\n");
}

}  // namespace
}  // namespace etc
