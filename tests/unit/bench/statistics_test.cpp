#include "bench/statistics.h"

#include <doctest/doctest.h>

namespace etc::test {
namespace {

TEST_CASE("the median is the middle one, or the mean of the two in the middle") {
  Spread odd = SpreadOf({3, 1, 2});
  CHECK(odd.median == 2);
  CHECK(odd.least == 1);
  CHECK(odd.greatest == 3);
  CHECK(SpreadOf({4, 1, 3, 2}).median == 2.5);
}

TEST_CASE("one value is all there is of it, and an outlier does not move the median") {
  Spread one = SpreadOf({7});
  CHECK(one.median == 7);
  CHECK(one.least == 7);
  CHECK(one.greatest == 7);
  CHECK(SpreadOf({1, 1, 1, 1, 1000}).median == 1);
}

}  // namespace
}  // namespace etc::test
