#include "schedule/lower.h"

namespace etc {

bool AddWatchdog(Module& module, const ScheduleOptions& options, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    Kernel& kernel = module.kernels[id];
    if (kernel.schedule != ScheduleKind::Kernels &&
        (options.watchdog_seconds || !kernel.watchdog)) {
      kernel.watchdog = Watchdog{options.watchdog_seconds.value_or(kWatchdogSeconds)};
    }
  }
  return true;
}

}  // namespace etc
