// Runs other programs, without a shell between.
#pragma once

#include <string>
#include <vector>

namespace etc {

/// How a program ended. `output` has its stdout and stderr in the order in which they came.
struct ProcessResult {
  bool started = false;  // false: `output` says why not
  int exit_code = -1;    // 128 + the signal's number when a signal ended it
  std::string output;

  bool Succeeded() const { return started && exit_code == 0; }
};

/// Runs `command[0]` (a path, or a name looked up in PATH) with the rest as its arguments, in
/// `directory`, with TMPDIR set to it so that nothing is left elsewhere, and waits for its end.
[[nodiscard]] ProcessResult RunProcess(const std::vector<std::string>& command,
                                       const std::string& directory);

/// Whether `name` is an executable file: itself if it has a slash, else in a folder of PATH.
[[nodiscard]] bool IsExecutable(const std::string& name);

}  // namespace etc
