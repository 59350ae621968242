#include "schedule/cost_model.h"
#include "schedule/lower.h"

namespace etc {

bool PaceLoader(Module& module, const ScheduleOptions&, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    Kernel& kernel = module.kernels[id];
    if (auto choice = ChoosePace(module, kernel)) {
      kernel.pace = choice->pace;
    }
  }
  return true;
}

}  // namespace etc
