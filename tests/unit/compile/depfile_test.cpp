#include "compile/depfile.h"

#include <doctest/doctest.h>

namespace etc {
namespace {

TEST_CASE("a rule with its inputs") {
  CHECK(Depfile({"m.cubin"}, {"m.etir", "config.json"}, false) ==
        "m.cubin: \\\n  m.etir \\\n  config.json\n");
  CHECK(Depfile({"m.cubin"}, {}, false) == "m.cubin:\n");
}

TEST_CASE("phony rules for all inputs but the first") {
  CHECK(Depfile({"a"}, {"b", "c", "d"}, true) == "a: \\\n  b \\\n  c \\\n  d\nc:\nd:\n");
}

TEST_CASE("names are escaped") {
  CHECK(Depfile({"my file"}, {"a#b", "c$d"}, false) == "my\\ file: \\\n  a\\#b \\\n  c$$d\n");
}

}  // namespace
}  // namespace etc
