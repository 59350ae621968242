// Kinds of options, and the groups of them that several subcommands have.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "driver/command_help.h"
#include "driver/options.h"

namespace etc {

/// Shows a flag without the value that it stands for, `{false}`.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
};

CLI::Validator OneOfWords(std::vector<std::string> words);

/// An option whose value is one of a few words.
template <class Value, class Choice>
void AddChoice(CLI::App* app, const std::string& flags, Value& value, const std::string& help,
               const std::vector<std::pair<std::string, Choice>>& choices) {
  std::vector<std::string> words;
  for (const auto& [word, choice] : choices) {
    words.push_back(word);
  }
  auto store = [&value, choices](const std::string& text) {
    for (const auto& [word, choice] : choices) {
      if (word == text) {
        value = choice;
      }
    }
  };
  app->add_option_function<std::string>(flags, store, help)
      ->check(OneOfWords(words))
      ->type_name(fmt::format("{}", fmt::join(words, "|")));
}

/// A number between two others, both included.
template <class T>
CLI::Validator Between(T min, T max) {
  return CLI::Validator(
      [=](const std::string& text) {
        T value{};
        return CLI::detail::lexical_cast(text, value) && value >= min && value <= max
                   ? std::string()
                   : fmt::format("`{}` is not a number from {} to {}", text, min, max);
      },
      "");
}

/// A text, where an empty one would mean that there is no such option: `what` names it in messages.
CLI::Validator NotEmpty(const char* what);

/// One value for each occurrence, so that a positional may follow.
CLI::Option* AddList(CLI::App* app, const std::string& flags, std::vector<std::string>& values,
                     const std::string& help, const std::string& type);

/// `-o`. An empty name would mean the default, where a shell put nothing for a variable.
void AddOutput(CLI::App* app, std::string& file, const std::string& help);

void AddDiagnostics(CLI::App* app, DiagnosticsFormat& format);
void AddConstants(CLI::App* app, SourceOptions& source);
/// Those of the options that were given, as they are named here.
std::vector<std::string> Given(const CLI::App& app, const std::vector<std::string>& names);
CLI::Option* AddSource(CLI::App* app, SourceOptions& source);
void AddMachine(CLI::App* app, const Target*& machine);
void AddLowering(CLI::App* app, LoweringOptions& lowering);

/// `--arch`.
void AddArch(CLI::App* app, Arch& arch);
void AddDebugChecks(CLI::App* app, LoweringOptions& lowering);
void AddWatchdog(CLI::App* app, LoweringOptions& lowering);
void AddProfile(CLI::App* app, LoweringOptions& lowering);
void AddTarget(CLI::App* app, TargetOptions& target);
void AddProofs(CLI::App* app, ProofOptions& proofs);

/// The definitions of an application, or of one of its subcommands, in their order.
CommandHelp DescribeCommand(const CLI::App& app);

/// Which graph at which sizes, and its inputs.
void AddTensors(CLI::App* app, std::string& graph, std::vector<std::string>& dims,
                std::vector<std::string>& inputs, uint64_t& seed, double& scale);

void AddBenchCommand(CLI::App& app, Command& command, BenchOptions& options);
void AddTuneCommand(CLI::App& app, Command& command, TuneOptions& options);

}  // namespace etc
