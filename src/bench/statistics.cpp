#include "bench/statistics.h"

#include <algorithm>

#include "support/diagnostics.h"

namespace etc {

Spread SpreadOf(std::vector<double> values) {
  ETC_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return {(values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2, values.front(),
          values.back()};
}

}  // namespace etc
