// What the programs of this folder have in common on their command lines.
#pragma once

#include <chrono>
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
  double seconds = 0;  // 0: as long as it takes
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  /// Whether nothing more is to be begun.
  bool TimeIsUp() const {
    return seconds > 0 &&
           std::chrono::steady_clock::now() - start > std::chrono::duration<double>(seconds);
  }
};

void AddCommonOptions(CLI::App& app, CommonOptions& options);

/// Parses the command line and runs the program, whose exit code it gives; 2 where the line is
/// wrong. Output shows while the program runs.
int Main(CLI::App& app, int argc, char** argv, const std::function<int()>& run);

}  // namespace etc::mutation
