#include <algorithm>

#include "schedule/cost_model.h"
#include "schedule/lower.h"

namespace etc {

bool PaceLoader(Module& module, const ScheduleOptions& options, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    Kernel& kernel = module.kernels[id];
    std::vector<PaceChoice> choices = ChoosePaces(module, kernel, *options.target);
    if (choices.empty()) {
      continue;
    }
    // The kernel has the pace of what streams most.
    auto most = std::max_element(choices.begin(), choices.end(), [](const auto& a, const auto& b) {
      return a.streamed_bytes < b.streamed_bytes;
    });
    kernel.pace = most->pace;
    for (const PaceChoice& choice : choices) {
      // A launch has no pace of its own.
      if (kernel.schedule == ScheduleKind::Kernels || choice.pace.IsSame(most->pace)) {
        continue;
      }
      for (NodeId share : choice.shares) {
        std::get<Share>(module.nodes[share]).pace = choice.pace;
      }
    }
  }
  return true;
}

}  // namespace etc
