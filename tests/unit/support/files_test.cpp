#include "support/files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "support/scratch_directory.h"

namespace etc {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("files are written and read whole") {
  ScratchDirectory scratch;
  Diagnostics diagnostics;
  std::string big(200000, 'x');
  REQUIRE(WriteFiles({{scratch.path() + "/a", big}, {scratch.path() + "/b", ""}}, diagnostics));
  CHECK(ReadInput(scratch.path() + "/a", diagnostics) == big);
  CHECK(ReadInput(scratch.path() + "/b", diagnostics) == "");
  CHECK(NamesIn(scratch.path()) == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(diagnostics.HasErrors());
}

TEST_CASE("when one of a group cannot be written, none is") {
  ScratchDirectory scratch;
  std::string path = scratch.path();
  REQUIRE(scratch.Write("old", "before"));
  fs::create_directory(path + "/folder");
  for (const std::string& bad : {path + "/folder", path + "/none/c"}) {
    Diagnostics diagnostics;
    CHECK_FALSE(
        WriteFiles({{path + "/a", "1"}, {path + "/old", "after"}, {bad, "3"}}, diagnostics));
    CHECK(diagnostics.all().size() == 1);
    CHECK(NamesIn(path) == std::vector<std::string>{"folder", "old"});
    CHECK(scratch.Read("old") == "before");
  }
}

TEST_CASE("what ends the process in the midst of a file leaves nothing of it") {
  ScratchDirectory scratch;
  std::string path = scratch.path();
  REQUIRE(scratch.Write("old", "before"));
  if (int unnamed = open(path.c_str(), O_WRONLY | O_TMPFILE, 0600); unnamed >= 0) {
    close(unnamed);
  } else {
    MESSAGE("not tested: the file system has no unnamed files");
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, SIG_DFL);
    Diagnostics diagnostics;
    std::string big(200000, 'x');
    _exit(WriteFiles({{path + "/a", "1"}, {path + "/old", big}}, diagnostics) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(NamesIn(path) == std::vector<std::string>{"old"});
  CHECK(scratch.Read("old") == "before");
}

TEST_CASE("reasons are named") {
  ScratchDirectory scratch;
  Diagnostics diagnostics;
  CHECK_FALSE(ReadInput(scratch.path() + "/none", diagnostics));
  CHECK_FALSE(ReadInput(scratch.path(), diagnostics));
  CHECK(diagnostics.all()[0].message ==
        "cannot read `" + scratch.path() + "/none`: no such file or folder");
  CHECK(diagnostics.all()[1].message == "cannot read `" + scratch.path() + "`: it is a folder");
  CHECK(diagnostics.all()[0].kind == DiagnosticKind::File);
}

TEST_CASE("what is longer than a text is not read") {
  ScratchDirectory scratch;
  REQUIRE(scratch.Write("long", ""));
  const std::string path = scratch.path() + "/long";
  fs::resize_file(path, 5 << 20);
  Diagnostics diagnostics;
  CHECK(ReadInput(path, diagnostics, 5 << 20).value().size() == 5 << 20);
  CHECK_FALSE(ReadInput(path, diagnostics, 4 << 20));
  CHECK_FALSE(ReadInput("/dev/zero", diagnostics));
  REQUIRE(diagnostics.all().size() == 2);
  CHECK(diagnostics.all()[0].message == "cannot read `" + path + "`: it has more than 4 MiB");
  CHECK(diagnostics.all()[1].message == "cannot read `/dev/zero`: it is a device");
}

TEST_CASE("permissions and symbolic links stay") {
  ScratchDirectory scratch;
  std::string path = scratch.path();
  REQUIRE(scratch.Write("target", "before"));
  chmod((path + "/target").c_str(), 0640);
  fs::create_symlink("target", path + "/link");
  Diagnostics diagnostics;
  REQUIRE(WriteFiles({{path + "/link", "after"}}, diagnostics));
  CHECK(fs::is_symlink(path + "/link"));
  CHECK(scratch.Read("target") == "after");
  struct stat status {};
  REQUIRE(stat((path + "/target").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0640);
}

TEST_CASE("the file that a symbolic link names is made where it is not there") {
  ScratchDirectory scratch;
  std::string path = scratch.path();
  fs::create_directory(path + "/folder");
  fs::create_symlink("folder/inner", path + "/link");
  fs::create_symlink("../made", path + "/folder/inner");
  fs::create_symlink(path + "/whole", path + "/absolute");
  Diagnostics diagnostics;
  CHECK(CheckDestination(path + "/link", diagnostics));
  REQUIRE(WriteFiles({{path + "/link", "1"}, {path + "/absolute", "2"}}, diagnostics));
  CHECK(fs::is_symlink(path + "/link"));
  CHECK(fs::is_symlink(path + "/folder/inner"));
  CHECK(fs::is_symlink(path + "/absolute"));
  CHECK(scratch.Read("made") == "1");
  CHECK(scratch.Read("whole") == "2");
  CHECK(NamesIn(path + "/folder") == std::vector<std::string>{"inner"});
}

TEST_CASE("symbolic links that lead to no place for a file are errors and stay") {
  ScratchDirectory scratch;
  std::string path = scratch.path();
  fs::create_symlink("none/c", path + "/astray");
  fs::create_symlink("second", path + "/first");
  fs::create_symlink("first", path + "/second");
  for (const char* name : {"astray", "first"}) {
    std::string link = path + "/" + name;
    Diagnostics diagnostics;
    CHECK_FALSE(CheckDestination(link, diagnostics));
    CHECK_FALSE(WriteFiles({{path + "/a", "1"}, {link, "2"}}, diagnostics));
    REQUIRE(diagnostics.all().size() == 2);
    const std::string why = name == std::string("astray") ? "no such file or folder"
                                                          : "Too many levels of symbolic links";
    CHECK(diagnostics.all()[0].message == "cannot write `" + link + "`: " + why);
    CHECK(diagnostics.all()[1].message == diagnostics.all()[0].message);
    CHECK(NamesIn(path) == std::vector<std::string>{"astray", "first", "second"});
    CHECK(fs::is_symlink(link));
  }
}

TEST_CASE("a symbolic link and the file that it names are the same, be the file there or not") {
  ScratchDirectory scratch;
  std::string path = scratch.path();
  fs::create_symlink("target", path + "/link");
  CHECK(IsSameFile(path + "/link", path + "/target"));
  CHECK_FALSE(IsSameFile(path + "/link", path + "/other"));
  REQUIRE(scratch.Write("target", ""));
  CHECK(IsSameFile(path + "/link", path + "/target"));
}

TEST_CASE("of paths to one file the first stays") {
  ScratchDirectory scratch;
  std::string path = scratch.path();
  REQUIRE(scratch.Write("a", ""));
  REQUIRE(scratch.Write("b", ""));
  fs::create_symlink("a", path + "/link");
  CHECK(
      WithoutSameFiles({path + "/link", path + "/none", path + "/a", path + "/b", path + "/./b"}) ==
      std::vector<std::string>{path + "/link", path + "/none", path + "/b"});
}

TEST_CASE("a device is written to, not replaced") {
  Diagnostics diagnostics;
  CHECK(WriteFiles({{"/dev/null", "gone"}}, diagnostics));
  CHECK(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace etc
