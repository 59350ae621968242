#include "driver/command_help.h"

#include <doctest/doctest.h>

namespace etc {
namespace {

CommandHelp Program() {
  CommandHelp run{"run", "Run it: now", {}, {}};
  run.options.push_back({{"-o", "--output"}, "FILE", "Where to write [here]"});
  run.options.push_back({{"--device"}, "host|gpu", "Where it's run"});
  run.options.push_back({{"--fast"}, "", "Fast"});
  run.options.push_back({{"file"}, "TEXT", "A .source"});
  return {"etc", "A program", {{{"--help"}, "", "Help"}}, {run}};
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the words of a value are those between bars") {
  CHECK(OptionHelp{{"-x"}, "a|b-c", ""}.Words() == std::vector<std::string>{"a", "b-c"});
  CHECK(OptionHelp{{"-x"}, "FILE", ""}.Words().empty());
  CHECK(OptionHelp{{"-x"}, "", ""}.IsFlag());
  CHECK(OptionHelp{{"file"}, "TEXT", ""}.IsPositional());
}

TEST_CASE("bash gets the options of each command, and the values of each option") {
  std::string text = CompletionScript(Program(), Shell::Bash);
  CHECK(Has(text, "run) options='-o --output --device --fast'"));
  CHECK(Has(text, "'run --device') COMPREPLY=($(compgen -W 'host gpu' -- \"$word\")); return"));
  CHECK(Has(text, "'run -o'|'run --output') COMPREPLY=($(compgen -f -- \"$word\")); return"));
  CHECK_FALSE(Has(text, "'run --fast')"));
}

TEST_CASE("zsh and fish get quotes and brackets that they take for text") {
  std::string zsh = CompletionScript(Program(), Shell::Zsh);
  CHECK(Has(zsh, "'run:Run it\\: now'"));
  CHECK(Has(zsh, "'*--output=[Where to write \\[here\\]]:FILE:_files'"));
  CHECK(Has(zsh, "'*--device=[Where it'\\''s run]:value:(host gpu)'"));
  std::string fish = CompletionScript(Program(), Shell::Fish);
  CHECK(Has(fish, "-l device -x -a 'host gpu' -d 'Where it'\\''s run'"));
  CHECK(Has(fish, "-s o -r -d"));
}

TEST_CASE("the manual page has no request but its own") {
  std::string text = ManPage(Program(), "1.0", "0 ok");
  CHECK(Has(text, ".SS etc run\nRun it: now."));
  CHECK(Has(text, "\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\nWhere to write [here]\n"));
  CHECK(Has(text, "\\fIfile\\fR\nA .source\n"));
}

}  // namespace
}  // namespace etc
