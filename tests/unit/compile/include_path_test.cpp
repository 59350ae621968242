// Which names lead to one imported file.
#include "compile/include_path.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/scratch_directory.h"
#include "text/parser.h"

namespace etc {
namespace {

namespace fs = std::filesystem;

/// A file `one.etir` to import, under `a/`, and links to it: `a/link.etir` and `b/far.etir`.
struct Linked {
  Linked() {
    fs::create_directory(scratch.path() + "/a");
    fs::create_directory(scratch.path() + "/b");
    REQUIRE(scratch.Write("a/one.etir",
                          "etir 1;\ndevice @one(%y: out f32[4]) tasks (i: 4) { %y[i] = 1; }\n"));
    fs::create_symlink("one.etir", scratch.path() + "/a/link.etir");
    fs::create_symlink("../a/one.etir", scratch.path() + "/b/far.etir");
  }

  /// The messages of a source with these lines.
  std::string Parsed(const std::string& lines, const std::string& name = "/a/main.etir") {
    SourceFile source(scratch.path() + name, "etir 1;\n" + lines);
    Diagnostics diagnostics;
    (void)Parse(source, include_path.Imports(), diagnostics);
    return RenderText(diagnostics, &source);
  }

  ScratchDirectory scratch;
  IncludePath include_path{{scratch.path()}};
};

TEST_CASE("a file that is imported under several names is one") {
  Linked files;
  CHECK(files.Parsed("import \"one.etir\";\nimport \"./one.etir\";\nimport \"link.etir\";\n"
                     "import \"b/far.etir\";\nimport \"" +
                     files.scratch.path() + "/a/../a/one.etir\";\n") == "");
  CHECK(files.include_path.used() ==
        std::vector<std::string>{files.scratch.path() + "/a/one.etir"});
  CHECK(files.Parsed("import \"link.etir\";\nimport \"one.etir\";\n", "/b/../a/main.etir") == "");
}

TEST_CASE("a copy of a file is another") {
  Linked files;
  fs::copy_file(files.scratch.path() + "/a/one.etir", files.scratch.path() + "/a/copy.etir");
  CHECK(files.Parsed("import \"one.etir\";\nimport \"copy.etir\";\n").find("is already defined") !=
        std::string::npos);
}

TEST_CASE("a source that imports a link to itself imports itself") {
  Linked files;
  REQUIRE(files.scratch.Write("a/main.etir", "etir 1;\nimport \"other.etir\";\n"));
  fs::create_symlink("main.etir", files.scratch.path() + "/a/other.etir");
  const std::string name = "/a/../a/main.etir";
  CHECK(files.Parsed("import \"other.etir\";\n", name).find("main.etir` imports itself") !=
        std::string::npos);
}

TEST_CASE("a header that is read under two names is named once") {
  Linked files;
  REQUIRE(files.scratch.Write("a/tile.cuh", "#pragma once\n"));
  fs::create_symlink("../a/tile.cuh", files.scratch.path() + "/b/tile.cuh");
  HeaderReader reader = files.include_path.Reader();
  CHECK(reader("a/tile.cuh") == "#pragma once\n");
  CHECK(reader("b/tile.cuh") == "#pragma once\n");
  CHECK(files.include_path.used() ==
        std::vector<std::string>{files.scratch.path() + "/a/tile.cuh"});
}

}  // namespace
}  // namespace etc
