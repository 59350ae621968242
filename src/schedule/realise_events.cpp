#include "schedule/lower.h"

namespace etc {

bool RealiseEvents(Module& module, const ScheduleOptions&, Diagnostics&) {
  for (const Kernel& kernel : module.kernels) {
    for (NodeId id : kernel.declarations) {
      if (const auto* declaration = std::get_if<EventDecl>(&module.nodes[id])) {
        module.events[declaration->event].realisation = Realisation::Counter;
      }
    }
  }
  return true;
}

}  // namespace etc
