// The time limit of `etc tune`.
#include "tune/time_limit.h"

#include <doctest/doctest.h>

namespace etc {
namespace {

constexpr double kHours = 1e5;

TEST_CASE("a limit is reached after its time") {
  std::atomic<bool> reached = false;
  TimeLimit limit(0.001, reached);
  reached.wait(false);
  CHECK(reached);
}

TEST_CASE("the time that is kept for what follows the search is no time of the search") {
  std::atomic<bool> reached = false;
  TimeLimit limit(kHours, reached);
  limit.Keep(1);
  CHECK_FALSE(reached);
  limit.Keep(kHours);
  reached.wait(false);
  CHECK(reached);
}

TEST_CASE("a limit that goes before its time sets nothing") {
  std::atomic<bool> reached = false;
  { TimeLimit limit(kHours, reached); }
  { TimeLimit none(std::nullopt, reached); }
  CHECK_FALSE(reached);
}

}  // namespace
}  // namespace etc
