#include "toolchain/subprocess.h"

#include <doctest/doctest.h>

#include "support/scratch_directory.h"
#include "toolchain/environment.h"

namespace etc {
namespace {

TEST_CASE("a program's output and exit code come back") {
  ScratchDirectory scratch;
  const ProcessResult result =
      RunProcess({"sh", "-c", "echo out; echo err >&2; pwd; echo $TMPDIR; exit 3"}, scratch.path());
  CHECK(result.started);
  CHECK_FALSE(result.Succeeded());
  CHECK(result.exit_code == 3);
  CHECK(result.output == "out\nerr\n" + scratch.path() + "\n" + scratch.path() + "\n");
}

TEST_CASE("arguments reach a program as they are") {
  const ProcessResult result = RunProcess({"printf", "%s", "a b; $HOME `x`"}, "/");
  CHECK(result.Succeeded());
  CHECK(result.output == "a b; $HOME `x`");
}

TEST_CASE("more output than a pipe holds is read whole") {
  const ProcessResult result = RunProcess({"head", "-c", "1000000", "/dev/zero"}, "/");
  CHECK(result.Succeeded());
  CHECK(result.output.size() == 1000000);
}

TEST_CASE("a program that a signal ends is told apart from one that exits") {
  CHECK(RunProcess({"sh", "-c", "kill -9 $$"}, "/").exit_code == 128 + 9);
}

TEST_CASE("a program that is not there is named") {
  const ProcessResult result = RunProcess({"/nowhere/program"}, "/");
  CHECK_FALSE(result.started);
  CHECK(result.output == "cannot run `/nowhere/program`: No such file or directory");
}

TEST_CASE("programs are looked up in PATH") {
  const ScopedVariable path("PATH", "/nowhere:/bin");
  CHECK(IsExecutable("sh"));
  CHECK(IsExecutable("/bin/sh"));
  CHECK_FALSE(IsExecutable("no-such-program"));
  CHECK_FALSE(IsExecutable("/bin"));
  CHECK_FALSE(IsExecutable("/etc/passwd"));
}

TEST_CASE("a scratch folder goes with its owner") {
  std::string path;
  {
    ScratchDirectory scratch;
    path = scratch.path();
    REQUIRE(scratch.Write("name", std::string("a\0b", 3)));
    CHECK(scratch.Read("name") == std::string("a\0b", 3));
    CHECK_FALSE(scratch.Read("other").has_value());
  }
  CHECK_FALSE(IsExecutable(path + "/name"));
  CHECK_FALSE(RunProcess({"true"}, path).started);
}

}  // namespace
}  // namespace etc
