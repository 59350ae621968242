#include "check_text.h"

#include "ir/printer.h"
#include "text/parser.h"

namespace etc {

std::string CheckText(const std::string& text) {
  SourceFile source("fuzz.etir", text);
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.range.end > text.size() || (!diagnostic.range.IsValid() && !text.empty())) {
      return "a diagnostic without a place in the text: " + diagnostic.message;
    }
  }
  if (RenderText(diagnostics, &source).empty() != diagnostics.all().empty() ||
      RenderJson(diagnostics, &source).empty()) {
    return "diagnostics that do not render";
  }
  if ((module == nullptr) != diagnostics.HasErrors()) {
    return module ? "a module in spite of errors" : "no module and no error";
  }
  if (module == nullptr) {
    return "";
  }
  std::string printed = Print(*module);
  SourceFile printed_source("printed.etir", printed);
  Diagnostics printed_diagnostics;
  std::unique_ptr<Module> again = Parse(printed_source, printed_diagnostics);
  if (again == nullptr) {
    return "the printed form does not parse:\n" + RenderText(printed_diagnostics, &printed_source);
  }
  return Print(*again) == printed ? "" : "the printed form is no fixed point:\n" + printed;
}

}  // namespace etc
