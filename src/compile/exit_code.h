// The exit codes of `etc`, as docs/cli.md promises them.
#pragma once

namespace etc {

enum class ExitCode : int {
  Ok = 0,
  InputWrong = 1,        // a source, a configuration or a data file is wrong; a check failed
  CommandLineWrong = 2,  // options that do not exist, do not fit together, or name nothing
  ProofFailed = 3,
  ToolchainFailed = 4,
  DeviceFailed = 5,  // there is no device, or it failed
  InternalError = 70,
};

}  // namespace etc
