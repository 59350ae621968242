// What the command line says of itself, for the shell's completion and the manual page.
#pragma once

#include <string>
#include <vector>

namespace etc {

struct OptionHelp {
  std::vector<std::string> names;  // "-o", "--output"; of a positional one without dashes
  std::string type;                // of its value: "FILE", "A|B" for words; empty for a flag
  std::string help;

  bool IsPositional() const { return names.front().front() != '-'; }
  bool IsFlag() const { return type.empty(); }
  /// The words that its value is one of; empty where it is something else.
  std::vector<std::string> Words() const;
};

struct CommandHelp {
  std::string name;
  std::string help;
  std::vector<OptionHelp> options;
  std::vector<CommandHelp> commands;
};

enum class Shell { Bash, Zsh, Fish };

/// A script for the shell: it completes subcommands, options, and their values.
[[nodiscard]] std::string CompletionScript(const CommandHelp& program, Shell shell);

/// The manual page, in the macros of man(7); `footer` says what exit codes mean.
[[nodiscard]] std::string ManPage(const CommandHelp& program, const std::string& version,
                                  const std::string& footer);

}  // namespace etc
