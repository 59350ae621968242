// The chain of tasks that set the time of what was played.
#pragma once

#include <vector>

#include "simulator/play.h"

namespace etc {

/// Microseconds of the chain that went to one step.
struct PathTimes {
  double work = 0;     // its tasks at full speed
  double data = 0;     // their bytes were missing
  double cache = 0;    // L2 gave less than they could take
  double signals = 0;  // from the result before, or the start of a launch, to the first operation,
                       // and from the last one to the stored result
  double Sum() const { return work + data + cache + signals; }
};

/// Of each step. Together they are the makespan.
std::vector<PathTimes> CriticalPath(const SimProgram& program, const SimRun& run);

}  // namespace etc
