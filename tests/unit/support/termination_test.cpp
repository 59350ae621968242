#include "support/termination.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

namespace etc {
namespace {

TEST_CASE("a signal waits for the end of steps that belong together") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);  // the test framework has a handler
    EndCleanly();
    std::optional<WithoutEnd> steps(std::in_place);
    kill(getpid(), SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    (void)!write(ends[1], "x", 1);
    steps.reset();
    std::this_thread::sleep_for(std::chrono::seconds(20));
    _exit(0);
  }
  close(ends[1]);
  char byte = 0;
  CHECK(read(ends[0], &byte, 1) == 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
  close(ends[0]);
}

}  // namespace
}  // namespace etc
