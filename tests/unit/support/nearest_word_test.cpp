#include "support/nearest_word.h"

#include <doctest/doctest.h>

namespace etc {
namespace {

TEST_CASE("edit distance") {
  CHECK(EditDistance("", "abc") == 3);
  CHECK(EditDistance("batch", "batch") == 0);
  CHECK(EditDistance("batch", "bacth") == 1);
  CHECK(EditDistance("batch", "bath") == 1);
  CHECK(EditDistance("kitten", "sitting") == 3);
}

}  // namespace
}  // namespace etc
