// What a tuning says of the schedule of a graph.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"

namespace etc {

/// The schedule of the kernel that a graph of the source becomes for a range of sizes.
struct TunedSchedule {
  std::string graph;
  std::vector<Where> where;
  ScheduleKind kind;
};

}  // namespace etc
