// `etc check`: parse → constants → verify → prove, and with `--fix` write what was missing.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include "compile/front.h"
#include "compile/include_path.h"
#include "driver/commands.h"
#include "support/files.h"
#include "text/parser.h"
#include "tune/check_choices.h"

namespace etc {
namespace {

constexpr size_t kMostFixes = 32;

std::string FixText(const std::vector<Insertion>& fix) {
  std::string text;
  for (const Insertion& insertion : fix) {
    size_t start = insertion.text.find_first_not_of(' ');
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", insertion.text.substr(start));
  }
  return text;
}

/// The text of a fix without the number in its event's name: what tells it from other fixes.
std::string KeyOf(const Diagnostic& diagnostic) {
  constexpr std::string_view kSuffix = "_done_";
  std::string text = FixText(diagnostic.fix);
  for (size_t at = text.find(kSuffix); at != std::string::npos; at = text.find(kSuffix, at + 1)) {
    size_t begin = at + kSuffix.size() - 1;
    text.erase(begin, text.find_first_not_of("0123456789", begin + 1) - begin);
  }
  return text;
}

bool IsRight(const std::string& text, const CheckOptions& options, Session& attempt) {
  auto module = Parse(attempt.SetSource(options.source.file, text),
                      IncludePath(options.source.include_dirs).Imports(), attempt.diagnostics());
  std::optional<ProofReport> report;
  return module && CheckModule(*module, options.source, options.proofs, attempt, report);
}

/// The text without what a fix has put into it.
std::string WithoutFix(std::string text, const std::vector<Insertion>& fix) {
  auto goes_on = [&](size_t at) {  // the name of another event, which begins with this one's
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (const Insertion& insertion : fix) {
    size_t at = text.find(insertion.text);
    while (at != std::string::npos && goes_on(at + insertion.text.size())) {
      at = text.find(insertion.text, at + 1);
    }
    if (at == std::string::npos) {
      continue;
    }
    size_t begin = insertion.line && at > 0 ? text.rfind('\n', at - 1) + 1 : at;
    text.erase(begin, at - begin + insertion.text.size() + (insertion.line ? 1 : 0));
  }
  return text;
}

struct FixedText {
  std::string text;
  std::vector<Diagnostic> made;
};

/// Makes one fix after the other until the text is right, then takes out those that it is right
/// without: what a later one orders may have led to an earlier one. Nothing where that does not
/// succeed.
std::optional<FixedText> Fix(std::string text, const CheckOptions& options) {
  std::set<std::string> tried;
  std::vector<Diagnostic> made;
  while (true) {
    Session attempt(options.source.diagnostics);
    if (IsRight(text, options, attempt)) {
      break;
    }
    const auto& found = attempt.diagnostics().all();
    auto is_for_file = [&](const Diagnostic& each) {
      return IsForFile(each.fix, *attempt.source());
    };
    // A race over iterations may need the fix of another one to go.
    auto is_new = [&](const Diagnostic& each) {
      return is_for_file(each) && !tried.contains(KeyOf(each));
    };
    auto fixable = std::find_if(found.begin(), found.end(), is_new);
    if (fixable == found.end()) {
      fixable = std::find_if(found.begin(), found.end(), is_for_file);
    }
    if (fixable == found.end() || made.size() == kMostFixes) {
      return std::nullopt;
    }
    tried.insert(KeyOf(*fixable));
    text = ApplyFix(std::move(text), fixable->fix);
    made.push_back(*fixable);
  }
  for (size_t i = 0; i + 1 < made.size();) {
    std::string less = WithoutFix(text, made[i].fix);
    Session attempt(options.source.diagnostics);
    if (IsRight(less, options, attempt)) {
      text = std::move(less);
      made.erase(made.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return FixedText{std::move(text), std::move(made)};
}

/// What is as it was goes from standard input to standard output all the same.
void PassOn(const CheckOptions& options, Session& session) {
  if (options.source.file == "-") {
    (void)WriteStdout(session.source()->text(), session.diagnostics());
  }
}

}  // namespace

ExitCode Execute(const CheckOptions& options) {
  Session session(options.source.diagnostics);
  auto module = ParseSource(options.source, session);
  std::unique_ptr<Module> open =
      module && options.choices ? std::make_unique<Module>(*module) : nullptr;
  std::optional<ProofReport> report;
  bool right = module && CheckModule(*module, options.source, options.proofs, session, report);
  if (right && open) {
    (void)(ApplySettings(*open, options.source, session) &&
           CheckChoices(*open, options.source, options.proofs, session));
    return session.Finish();
  }
  if (!module || !options.fix) {
    return session.Finish(module ? ExitCode::Ok : ExitCode::InputWrong);
  }
  if (right) {
    PassOn(options, session);
    return session.Finish();
  }
  if (auto fixed = Fix(std::string(session.source()->text()), options)) {
    Session written(options.source.diagnostics);
    if (WriteText(options.source.file, fixed->text, written.diagnostics())) {
      for (const Diagnostic& fix : fixed->made) {
        written.diagnostics().Remark(fix.kind, {}, "added " + FixText(fix.fix));
      }
    }
    return written.Finish();
  }
  session.diagnostics().Warning(DiagnosticKind::Race, {},
                                "`--fix` leaves the file as it is: no events that it knows of "
                                "make it right");
  PassOn(options, session);
  return session.Finish();
}

}  // namespace etc
