#include "toolchain/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "support/termination.h"

namespace etc {
namespace {

/// This process's environment with TMPDIR replaced.
std::vector<std::string> EnvironmentWithTmpdir(const std::string& directory) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("TMPDIR=")) {
      result.emplace_back(*entry);
    }
  }
  result.push_back("TMPDIR=" + directory);
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& string : strings) {
    result.push_back(string.data());
  }
  result.push_back(nullptr);
  return result;
}

/// Reads until every writer has closed its end.
std::string ReadAll(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return text;
    }
  }
}

int WaitForExit(pid_t process) {
  const int status = WaitForGroup(process);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ProcessResult RunProcess(const std::vector<std::string>& command, const std::string& directory) {
  ProcessResult result;
  std::array<int, 2> pipe_ends;
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    result.output = fmt::format("cannot create a pipe: {}", std::strerror(errno));
    return result;
  }

  std::vector<std::string> arguments = command;
  std::vector<std::string> environment = EnvironmentWithTmpdir(directory);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawnattr_t attributes;  // no signal blocked, whatever this thread blocks
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);  // one of its own
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  int error = 0;
  const pid_t process = StartGroup([&] {
    pid_t started = 0;
    error = posix_spawnp(&started, arguments[0].c_str(), &actions, &attributes,
                         Pointers(arguments).data(), Pointers(environment).data());
    return error == 0 ? started : 0;
  });
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  // The child holds its own copy; keeping ours open would hide the end of its output.
  close(pipe_ends[1]);

  if (error == 0) {
    result.output = ReadAll(pipe_ends[0]);
    result.exit_code = WaitForExit(process);
    result.started = true;
  } else {
    result.output = fmt::format("cannot run `{}`: {}", command[0], std::strerror(error));
  }
  close(pipe_ends[0]);
  return result;
}

bool IsExecutable(const std::string& name) {
  const auto is_program = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    return is_program(name);
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (is_program(std::filesystem::path(rest.substr(0, end)) / name)) {
      return true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace etc
