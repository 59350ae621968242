// What one launch of a kernel puts on the stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

/// A kernel of more launches is no program but a broken manifest.
inline constexpr int64_t kMaxLaunches = 1 << 20;

/// The launches of a kernel that is a list of them, in order, repeats unrolled.
struct LaunchSteps {
  struct Step {
    size_t entry = 0;  // number in program order
    int64_t tasks = 0;
  };
  std::vector<Step> steps;
  /// `depth` words for each step: the iteration of each repeat around it, outermost first, and
  /// zeros; of a kernel with a profile, the last is the number of the launch.
  std::vector<int64_t> iterations;
  size_t depth = 0;  // repeats around the innermost launch, and that number

  /// Whether both launch the same entries in the same iterations, for whatever tasks.
  bool HasShapeOf(const LaunchSteps& other) const;
};

/// The names of a kernel's entries, by number: one of a persistent kernel.
std::vector<std::string> EntryNames(const manifest::Kernel& kernel);

/// What messages call a kernel: its only or its first entry.
std::string NameOf(const manifest::Kernel& kernel);

/// The steps under the dims, without those that have no task.
Status ListLaunches(const manifest::Kernel& kernel, const std::vector<int64_t>& dims,
                    LaunchSteps* steps);

/// Steps with what they are launched with.
struct LaunchList {
  size_t kernel = 0;
  int64_t sms = 0;  // a launch has a CTA for each task, at most one for each SM
  const LaunchSteps& steps;
  std::vector<uint64_t>& block;  // with words for the iterations at its end
};

/// Calls `launch(request)` for each step in order, with its iterations in the block.
template <class Launch>
Status ForEachLaunch(const LaunchList& list, Launch launch) {
  const LaunchSteps& steps = list.steps;
  const auto depth = static_cast<std::ptrdiff_t>(steps.depth);
  auto iterations = steps.iterations.begin();
  // The first launch waits for the caller's own work on the stream: that knows nothing of ours.
  LaunchRequest request{list.kernel, 0, 0, LaunchMode::InOrder};
  for (const LaunchSteps::Step& step : steps.steps) {
    std::copy(iterations, iterations + depth, list.block.end() - depth);
    iterations += depth;
    request.entry = step.entry;
    request.sms = static_cast<int>(std::min(step.tasks, list.sms));
    ETC_RETURN_IF_BAD(launch(request));
    request.mode = LaunchMode::Overlapping;
  }
  return {};
}

}  // namespace etc::runtime
