// A rank of several that run a graph together and share its weights.
#pragma once

#include <cstdint>

namespace etc::runtime {

struct RankOf {
  int64_t rank = 0;
  int64_t ranks = 1;

  bool operator==(const RankOf&) const = default;
};

}  // namespace etc::runtime
