// What the programs of this folder have in common on their command lines.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace etc::mutation {

/// The options of every program that tries many programs.
struct CommonOptions {
  uint64_t seed = 1;
  std::string save;
};

void AddCommonOptions(CLI::App& app, CommonOptions& options);

/// Parses the command line and runs the program, whose exit code it gives; 2 where the line is
/// wrong. Output shows while the program runs.
int Main(CLI::App& app, int argc, char** argv, const std::function<int()>& run);

}  // namespace etc::mutation
