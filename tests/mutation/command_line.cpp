#include "command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace etc::mutation {

void AddCommonOptions(CLI::App& app, CommonOptions& options) {
  app.add_option("--seed", options.seed, "Of the random choices")->capture_default_str();
  app.add_option("--seconds", options.seconds, "Begin nothing more after so long; 0 for no limit")
      ->capture_default_str();
  app.add_option("--save", options.save, "A folder for the programs that something is wrong with")
      ->check(CLI::ExistingDirectory);
}

int Main(CLI::App& app, int argc, char** argv, const std::function<int()>& run) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run();
}

}  // namespace etc::mutation
