#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/command_help.h"

namespace etc {
namespace {

/// Text in which nothing is taken for a request or an escape.
std::string Roff(const std::string& text) {
  std::string out;
  for (char c : text) {
    bool starts_line = out.empty() || out.back() == '\n';
    if (starts_line && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string OptionText(const OptionHelp& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back(option.IsPositional() ? fmt::format("\\fI{}\\fR", Roff(name))
                                          : fmt::format("\\fB{}\\fR", Roff(name)));
  }
  std::string type =
      option.IsFlag() || option.IsPositional() ? "" : fmt::format(" \\fI{}\\fR", Roff(option.type));
  return fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "), type, Roff(option.help));
}

}  // namespace

std::string ManPage(const CommandHelp& program, const std::string& version,
                    const std::string& footer) {
  std::string text = fmt::format(
      ".TH ETC 1 \"\" \"etc {}\" \"User Commands\"\n"
      ".SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n.B {}\n\\fIcommand\\fR [\\fIoptions\\fR] [\\fIfile\\fR]\n",
      Roff(version), program.name, Roff(program.help), program.name);
  text += ".SH OPTIONS\n";
  for (const OptionHelp& option : program.options) {
    text += OptionText(option);
  }
  text += ".SH COMMANDS\n";
  for (const CommandHelp& command : program.commands) {
    text += fmt::format(".SS {} {}\n{}.\n", program.name, command.name, Roff(command.help));
    for (const OptionHelp& option : command.options) {
      text += OptionText(option);
    }
  }
  return text + fmt::format(".SH EXIT STATUS\n{}\n", Roff(footer));
}

}  // namespace etc
