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
  CHECK(source.LineAt(1) == "ab");
  CHECK(source.LineAt(3) == "cd");
  CHECK(source.LineAt(7).empty());
  CHECK(source.LineAt(8) == "x");
}

TEST_CASE("an imported text has offsets behind those of the file") {
  SourceFile source("a.etir", "ab\ncd");
  std::string_view first = source.text();
  uint32_t begin = source.Add("b.etir", "ef\ngh\n");
  CHECK(begin > 5);
  CHECK(source.Locate(5).line == 2);  // the end of the file is not in the other one
  CHECK(source.NameAt(5) == "a.etir");
  CHECK(source.NameAt(begin) == "b.etir");
  CHECK(source.Locate(begin + 3).line == 2);
  CHECK(source.Locate(begin + 3).column == 1);
  CHECK(source.LineAt(begin + 4) == "gh");
  CHECK(source.Text({begin + 3, begin + 5}) == "gh");
  CHECK(source.end() == begin + 6);
  CHECK(source.text().data() == first.data());
}

}  // namespace
}  // namespace etc
