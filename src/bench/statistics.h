// What is said of a list of measurements.
#pragma once

#include <vector>

namespace etc {

struct Spread {
  double median = 0;
  double least = 0;
  double greatest = 0;
};

/// Of at least one value, in the unit of the values; the median of an even number of them is the
/// mean of the two in the middle.
[[nodiscard]] Spread SpreadOf(std::vector<double> values);

}  // namespace etc
