#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "driver/command_help.h"
#include "driver/commands.h"
#include "support/files.h"

namespace etc {
namespace {

/// In single quotes, as all three shells read them.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

bool IsFile(const std::string& type) { return type.find("FILE") != std::string::npos; }
bool IsFolder(const std::string& type) { return type.find("DIR") != std::string::npos; }

bool TakesFiles(const CommandHelp& command) {
  for (const OptionHelp& option : command.options) {
    if (option.IsPositional() && option.Words().empty()) {
      return true;
    }
  }
  return false;
}

std::string BashValues(const OptionHelp& option) {
  std::vector<std::string> words = option.Words();
  if (!words.empty()) {
    return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\"))", fmt::join(words, " "));
  }
  return IsFile(option.type)     ? "COMPREPLY=($(compgen -f -- \"$word\"))"
         : IsFolder(option.type) ? "COMPREPLY=($(compgen -d -- \"$word\"))"
                                 : "COMPREPLY=()";
}

std::string Bash(const CommandHelp& program) {
  std::string values, options, names;
  for (const CommandHelp& command : program.commands) {
    names += command.name + " ";
    std::string all, words;
    for (const OptionHelp& option : command.options) {
      if (option.IsPositional()) {
        words += fmt::format("{}{}", words.empty() ? "" : " ", fmt::join(option.Words(), " "));
        continue;
      }
      all += fmt::format("{}{}", all.empty() ? "" : " ", fmt::join(option.names, " "));
      if (!option.IsFlag()) {
        std::vector<std::string> cases;
        for (const std::string& name : option.names) {
          cases.push_back(fmt::format("'{} {}'", command.name, name));
        }
        values += fmt::format("    {}) {}; return ;;\n", fmt::join(cases, "|"), BashValues(option));
      }
    }
    options += fmt::format("    {}) options='{}'; words='{}' ;;\n", command.name, all, words);
  }
  std::string own;
  for (const OptionHelp& option : program.options) {
    own += fmt::format("{}{}", own.empty() ? "" : " ", fmt::join(option.names, " "));
  }
  return fmt::format(R"(# bash completion of {0}, which `{0} completion bash` prints
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local command= options= words= i
  # `--option=value` comes as three words.
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${{COMP_WORDS[i]}} != -* ]]; then
      command=${{COMP_WORDS[i]}}
      break
    fi
  done
  if [[ -z $command ]]; then
    COMPREPLY=($(compgen -W '{1}{2}' -- "$word"))
    return
  fi
  case "$command $before" in
{3}  esac
  case $command in
{4}  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _{0} {0}
)",
                     program.name, names, own, values, options);
}

/// A description inside of brackets, where a few signs mean something.
std::string ZshText(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    escaped +=
        c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return escaped;
}

std::string ZshValues(const OptionHelp& option) {
  if (option.IsFlag()) {
    return "";
  }
  std::vector<std::string> words = option.Words();
  if (!words.empty()) {
    return fmt::format(":{}:({})", "value", fmt::join(words, " "));
  }
  return fmt::format(":{}:{}", ZshText(option.type),
                     IsFile(option.type)     ? "_files"
                     : IsFolder(option.type) ? "_files -/"
                                             : "");
}

std::string Zsh(const CommandHelp& program) {
  std::string names, cases;
  for (const CommandHelp& command : program.commands) {
    names += fmt::format("    {}\n", Quoted(command.name + ":" + ZshText(command.help)));
    std::string specs;
    for (const OptionHelp& option : command.options) {
      if (option.IsPositional()) {
        std::vector<std::string> words = option.Words();
        specs += words.empty() ? " '*:file:_files'"
                               : " " + Quoted(fmt::format("1:{}:({})", option.names.front(),
                                                          fmt::join(words, " ")));
        continue;
      }
      for (const std::string& name : option.names) {
        bool is_long = name.starts_with("--");
        specs += " " + Quoted(fmt::format("*{}{}[{}]{}", name,
                                          option.IsFlag() ? ""
                                          : is_long       ? "="
                                                          : "+",
                                          ZshText(option.help), ZshValues(option)));
      }
    }
    cases += fmt::format("    {}) _arguments{} ;;\n", command.name, specs);
  }
  return fmt::format(R"(#compdef {0}
# zsh completion of {0}, which `{0} completion zsh` prints
_{0}() {{
  local -a commands
  commands=(
{1}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( --CURRENT ))
  case $command in
{2}  esac
}}
if [[ $funcstack[1] == _{0} ]]; then
  _{0} "$@"
else
  compdef _{0} {0}
fi
)",
                     program.name, names, cases);
}

std::string Fish(const CommandHelp& program) {
  std::string text =
      fmt::format("# fish completion of {0}, which `{0} completion fish` prints\n", program.name);
  for (const CommandHelp& command : program.commands) {
    text += fmt::format("complete -c {} -n __fish_use_subcommand -f -a {} -d {}\n", program.name,
                        command.name, Quoted(command.help));
    std::string head = fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'",
                                   program.name, command.name);
    if (!TakesFiles(command)) {
      text += head + " -f\n";
    }
    for (const OptionHelp& option : command.options) {
      std::string words = fmt::format("{}", fmt::join(option.Words(), " "));
      std::string values = option.IsFlag()  ? ""
                           : !words.empty() ? " -x -a " + Quoted(words)
                           : IsFile(option.type) || IsFolder(option.type) ? " -r"
                                                                          : " -x";
      if (option.IsPositional()) {
        text += words.empty() ? "" : fmt::format("{} -a {}\n", head, Quoted(words));
        continue;
      }
      for (const std::string& name : option.names) {
        bool is_long = name.starts_with("--");
        text += fmt::format("{} {} {}{} -d {}\n", head, is_long ? "-l" : "-s",
                            name.substr(is_long ? 2 : 1), values, Quoted(option.help));
      }
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> OptionHelp::Words() const {
  std::vector<std::string> words;
  if (type.find('|') == std::string::npos) {
    return words;
  }
  for (size_t at = 0; at <= type.size();) {
    size_t end = std::min(type.find('|', at), type.size());
    words.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string CompletionScript(const CommandHelp& program, Shell shell) {
  switch (shell) {
    case Shell::Bash:
      return Bash(program);
    case Shell::Zsh:
      return Zsh(program);
    case Shell::Fish:
      break;
  }
  return Fish(program);
}

ExitCode Execute(const PrintOptions& options) {
  Session session(DiagnosticsFormat::Text);
  (void)WriteStdout(options.text, session.diagnostics());
  return session.Finish();
}

}  // namespace etc
