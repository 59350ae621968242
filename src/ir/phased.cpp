#include "ir/phased.h"

#include <algorithm>
#include <array>

namespace etc {

bool TakesPhased(const Device& device, TensorId param) {
  return std::any_of(device.impls.begin(), device.impls.end(), [&](const Impl& impl) {
    return std::find(impl.phased.begin(), impl.phased.end(), param) != impl.phased.end();
  });
}

const EventRef* TurnOf(const Module& module, const Share& share, Access access) {
  using Lists = std::array<const std::vector<EventRef>*, 2>;
  for (const auto* refs : access == Access::In ? Lists{&share.enter_waits, &share.waits}
                                               : Lists{&share.notifies, &share.leave_notifies}) {
    for (const EventRef& ref : *refs) {
      if (module.events[ref.event].realisation == Realisation::Words) {
        return &ref;
      }
    }
  }
  return nullptr;
}

}  // namespace etc
