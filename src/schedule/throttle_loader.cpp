#include <algorithm>

#include "schedule/cost_model.h"
#include "schedule/lower.h"

namespace etc {

bool ThrottleLoader(Module& module, const ScheduleOptions& options, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    Kernel& kernel = module.kernels[id];
    std::vector<ThrottleChoice> choices = ChooseThrottles(module, kernel, *options.target);
    if (choices.empty()) {
      continue;
    }
    // The kernel has the throttle of what streams most.
    auto most = std::max_element(choices.begin(), choices.end(), [](const auto& a, const auto& b) {
      return a.streamed_bytes < b.streamed_bytes;
    });
    kernel.throttle = most->throttle;
    for (const ThrottleChoice& choice : choices) {
      // A launch has no throttle of its own.
      if (kernel.schedule == ScheduleKind::Kernels || choice.throttle.IsSame(most->throttle)) {
        continue;
      }
      for (NodeId share : choice.shares) {
        std::get<Share>(module.nodes[share]).throttle = choice.throttle;
      }
    }
  }
  return true;
}

}  // namespace etc
