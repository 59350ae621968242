#include "check_text.h"

#include "emit/builtin_headers.h"
#include "expand/expand.h"
#include "ir/printer.h"
#include "text/parser.h"

namespace etc {
namespace {

/// What a text can import, besides the library: a file with names of its own and one that it shares
/// with whoever imports it, and one that cannot be imported.
std::optional<ImportedText> Imported(const std::string& name, const std::string&) {
  if (name == "fuzz.etir") {  // the name of the text itself
    return ImportedText{name, ""};
  }
  if (name == "used.etir") {
    return ImportedText{name, R"(etir 1;
import "operators/tiling.etir";
const used = 3;
let twice = used * 2;
fn _own(x) = x + 1;
fn dot(%a, %b, n) = sum(k: n) %a[k] * %b[k];
device @scale<N, by = 2.0>(%x: f32[N], %y: inout f32[N]) tasks (i: N) { %y[i] += by * %x[i]; }
graph @twice<N>(%x: f32[N], %y: inout f32[N]) {
  call @scale(%x, %y);
  call @scale<by = 0.5>(%x, %y);
}
)"};
  }
  auto text = name.ends_with(".etir") ? BuiltinHeader(name) : std::nullopt;
  return text ? std::optional(ImportedText{"<etc>/" + name, *text}) : std::nullopt;
}

std::string CheckPrinted(const Module& module, const std::string& what) {
  std::string printed = Print(module);
  SourceFile source("fuzz.etir", printed);
  Diagnostics diagnostics;
  std::unique_ptr<Module> again = Parse(source, Imported, diagnostics);
  if (again == nullptr) {
    return what + " does not parse:\n" + RenderText(diagnostics, &source);
  }
  return Print(*again) == printed ? "" : what + " is no fixed point:\n" + printed;
}

}  // namespace

std::string CheckText(const std::string& text) {
  SourceFile source("fuzz.etir", text);
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, Imported, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.range.end > source.end() || (!diagnostic.range.IsValid() && !text.empty())) {
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
  if (std::string problem = CheckPrinted(*module, "the printed form"); !problem.empty()) {
    return problem;
  }
  Diagnostics of_expansion;
  bool expanded = Expand(*module, {132, 232448}, of_expansion);
  if (expanded == of_expansion.HasErrors()) {
    return expanded ? "a flat module in spite of errors" : "no flat module and no error";
  }
  return expanded ? CheckPrinted(*module, "the flat form") : "";
}

}  // namespace etc
