// The constraints of isl's basic sets and maps as rows of words.
#pragma once

#include <isl/map.h>
#include <isl/set.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etc {

/// Each row has a constant, and a coefficient for each variable: of the parameters, the dimensions,
/// and what is existentially quantified, in this order. Its sum is 0 in the first `equalities`
/// rows, and at least 0 in the others. No number is INT64_MIN, so each has one of the other sign.
struct Constraints {
  size_t columns = 0;
  size_t equalities = 0;
  std::vector<int64_t> numbers;  // row by row

  size_t rows() const { return columns == 0 ? 0 : numbers.size() / columns; }
  std::span<const int64_t> row(size_t i) const {
    return std::span(numbers).subspan(i * columns, columns);
  }
};

/// Nothing where a number takes more than a word, and after an error.
std::optional<Constraints> ConstraintsOf(isl_basic_set* set);
std::optional<Constraints> ConstraintsOf(isl_basic_map* map);

}  // namespace etc
