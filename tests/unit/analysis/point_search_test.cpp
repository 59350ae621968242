#include "analysis/sets/point_search.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <random>

namespace etc {
namespace {

constexpr size_t kVariables = 3;
constexpr int64_t kMost = 4;  // of a variable's magnitude

struct Constraint {
  std::array<int64_t, kVariables + 1> row;
  bool equality;
};

bool Holds(const std::vector<Constraint>& constraints, const std::vector<int64_t>& point) {
  for (const Constraint& each : constraints) {
    int64_t sum = each.row[0];
    for (size_t i = 0; i < kVariables; ++i) {
      sum += each.row[i + 1] * point[i];
    }
    if (each.equality ? sum != 0 : sum < 0) {
      return false;
    }
  }
  return true;
}

bool HasPoint(const std::vector<Constraint>& constraints) {
  for (int64_t x = -kMost; x <= kMost; ++x) {
    for (int64_t y = -kMost; y <= kMost; ++y) {
      for (int64_t z = -kMost; z <= kMost; ++z) {
        if (Holds(constraints, {x, y, z})) {
          return true;
        }
      }
    }
  }
  return false;
}

std::optional<std::vector<int64_t>> Find(const std::vector<Constraint>& constraints) {
  PointSearch search(kVariables);
  for (const Constraint& each : constraints) {
    search.Add(each.row, each.equality);
  }
  return search.Find();
}

std::vector<Constraint> InBox() {
  std::vector<Constraint> constraints;
  for (size_t i = 1; i <= kVariables; ++i) {
    for (int64_t sign : {-1, 1}) {
      Constraint& bound = constraints.emplace_back(Constraint{{kMost}, false});
      bound.row[i] = sign;
    }
  }
  return constraints;
}

TEST_CASE("points are in the set, and a set said to be empty has none") {
  std::mt19937 random(7);
  auto number = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  size_t found = 0, empty = 0, open = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Constraint> constraints = InBox();
    for (int64_t i = number(1, 4); i > 0; --i) {
      constraints.push_back(
          {{number(-9, 9), number(-3, 3), number(-3, 3), number(-3, 3)}, number(0, 2) == 0});
    }
    auto point = Find(constraints);
    if (!point) {
      ++open;
    } else if (point->empty()) {
      ++empty;
      CHECK_FALSE(HasPoint(constraints));
    } else {
      ++found;
      CHECK(Holds(constraints, *point));
    }
  }
  CHECK(found > 1000);
  CHECK(empty > 300);
  CHECK(open < 1000);
}

TEST_CASE("strides and sums of variables leave a point") {
  // x = 128 y + z, 0 <= z <= 127, x >= 300
  auto point = Find({{{0, 1, -128, -1}, true},
                     {{0, 0, 0, 1}, false},
                     {{127, 0, 0, -1}, false},
                     {{-300, 1, 0, 0}, false}});
  REQUIRE(point);
  CHECK(*point == std::vector<int64_t>{300, 2, 44});
}

TEST_CASE("a gap that only all bounds together show stays open") {
  // 2 x = 2 y + 1: each bound follows from another one for ever
  CHECK_FALSE(Find({{{-1, 2, -2, 0}, true}}));
}

TEST_CASE("what bounds say of a sum holds at all points") {
  std::mt19937 random(5);
  auto number = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  size_t shown = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Constraint> constraints = InBox();
    for (int64_t i = number(0, 3); i > 0; --i) {
      constraints.push_back(
          {{number(-9, 9), number(-3, 3), number(-3, 3), number(-3, 3)}, number(0, 2) == 0});
    }
    PointSearch search(kVariables);
    for (const Constraint& each : constraints) {
      search.Add(each.row, each.equality);
    }
    search.NarrowBounds();
    Constraint sum{{number(-5, 9), number(-2, 2), number(-2, 2), number(-2, 2)}, false};
    for (int64_t sign : {-1, 1}) {
      if (search.IsAtLeast0(sum.row, sign)) {
        ++shown;
        std::vector<Constraint> below = constraints;
        below.push_back(
            {{-sign * sum.row[0] - 1, -sign * sum.row[1], -sign * sum.row[2], -sign * sum.row[3]},
             false});
        CHECK_FALSE(HasPoint(below));
      }
    }
  }
  CHECK(shown > 500);
}

TEST_CASE("sums of variables without bounds, or of more than a word, are not shown") {
  PointSearch search(kVariables);
  search.Add(std::vector<int64_t>{-(int64_t{1} << 62), 1, 0, 0}, false);
  search.NarrowBounds();
  CHECK(search.IsAtLeast0(std::vector<int64_t>{0, 1, 0, 0}, 1));
  CHECK(search.IsAtLeast0(std::vector<int64_t>{0, 1}, 1));
  CHECK_FALSE(search.IsAtLeast0(std::vector<int64_t>{0, 1, 0, 0}, -1));
  CHECK_FALSE(search.IsAtLeast0(std::vector<int64_t>{0, 1, 1, 0}, 1));
  CHECK_FALSE(search.IsAtLeast0(std::vector<int64_t>{0, 8, 0, 0}, 1));
}

TEST_CASE("variables without bounds are next to 0") {
  CHECK(Find({{{5, 0, -1, 0}, false}}) == std::vector<int64_t>{0, 0, 0});
  CHECK(Find({{{-5, 0, -1, 0}, false}}) == std::vector<int64_t>{0, -5, 0});
  CHECK(Find({}) == std::vector<int64_t>{0, 0, 0});
}

TEST_CASE("numbers of more than a word decide nothing") {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
  // x >= 2^62 and y >= 8 x
  CHECK_FALSE(Find({{{-(int64_t{1} << 62), 1, 0, 0}, false}, {{0, -8, 1, 0}, false}}));
  for (int64_t a : {kLargest, kSmallest, kSmallest + 1}) {
    for (int64_t b : {kLargest, kSmallest, int64_t{-1}, int64_t{3}}) {
      auto point = Find({{{a, b, a, 0}, true}, {{b, a, 0, -1}, false}});
      CHECK((!point || point->size() == kVariables || point->empty()));
    }
  }
}

}  // namespace
}  // namespace etc
