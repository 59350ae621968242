#include "ir/phased.h"

#include <algorithm>

namespace etc {

bool TakesPhased(const Device& device, TensorId param) {
  return std::any_of(device.impls.begin(), device.impls.end(), [&](const Impl& impl) {
    return std::find(impl.phased.begin(), impl.phased.end(), param) != impl.phased.end();
  });
}

const EventRef* TurnOf(const Module& module, const Share& share, Access access) {
  const bool reads = access == Access::In;
  for (const auto* refs : {reads ? &share.range_waits : &share.notifies,
                           reads ? &share.enter_waits : &share.leave_notifies,
                           reads ? &share.waits : &share.leave_notifies}) {
    for (const EventRef& ref : *refs) {
      if (module.events[ref.event].realisation == Realisation::Words) {
        return &ref;
      }
    }
  }
  return nullptr;
}

}  // namespace etc
