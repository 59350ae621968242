#include <algorithm>

#include "ir/evaluate.h"
#include "schedule/choose_throttles.h"
#include "schedule/lower.h"

namespace etc {
namespace {

/// Whether each share that streams would have a throttle of its own.
bool AllHaveTheirOwn(const Module& module, const std::vector<ThrottleChoice>& choices) {
  return std::all_of(choices.begin(), choices.end(), [&](const ThrottleChoice& choice) {
    return std::all_of(choice.shares.begin(), choice.shares.end(), [&](NodeId id) {
      return HasOwnThrottle(module, std::get<Share>(module.nodes[id]));
    });
  });
}

/// What a tuning says of the kernel; a list of launches was not measured.
const LoaderAdvice* AdviceFor(const Module& module, const Kernel& kernel) {
  auto is_for_it = [&](const LoaderAdvice& advice) {
    return advice.graph == kernel.graph && kernel.schedule != ScheduleKind::Kernels &&
           RangesOf(module, advice.where) == RangesOf(module, kernel);
  };
  auto found = std::find_if(module.loader_advice.begin(), module.loader_advice.end(), is_for_it);
  return found != module.loader_advice.end() ? &*found : nullptr;
}

}  // namespace

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
    if (const LoaderAdvice* advice = AdviceFor(module, kernel)) {
      most->throttle = advice->throttle;
    }
    kernel.throttle = most->throttle;
    if (kernel.schedule == ScheduleKind::Kernels) {  // a launch has no throttle of its own
      if (AllHaveTheirOwn(module, choices)) {
        kernel.throttle = most->own;
      }
      continue;
    }
    for (const ThrottleChoice& choice : choices) {
      std::vector<Throttle> throttles = ThrottlesOf(module, choice);
      for (size_t i = 0; i < throttles.size(); ++i) {
        if (!throttles[i].IsSame(most->throttle)) {
          std::get<Share>(module.nodes[choice.shares[i]]).throttle = throttles[i];
        }
      }
    }
  }
  return true;
}

}  // namespace etc
