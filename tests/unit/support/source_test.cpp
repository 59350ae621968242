#include "support/source.h"

#include <doctest/doctest.h>

namespace etc {
namespace {

TEST_CASE("offsets become lines and columns") {
  SourceFile source("t.etir", "ab\ncd\r\n\nx");
  CHECK(source.Locate(0).line == 1);
  CHECK(source.Locate(4).line == 2);
  CHECK(source.Locate(4).column == 2);
  CHECK(source.Locate(8).line == 4);
  CHECK(source.Line(1) == "ab");
  CHECK(source.Line(2) == "cd");
  CHECK(source.Line(3).empty());
  CHECK(source.Line(4) == "x");
  CHECK(source.Line(5).empty());
}

}  // namespace
}  // namespace etc
