#include "ir/flagged.h"

#include <algorithm>

namespace etc {

bool TakesFlagged(const Module& module, const Device& device, TensorId param,
                  const DimRanges& ranges) {
  return std::any_of(device.impls.begin(), device.impls.end(), [&](const Impl& impl) {
    return std::find(impl.flagged.begin(), impl.flagged.end(), param) != impl.flagged.end() &&
           (!impl.flagged_if || EvaluateBool(module, impl.flagged_if, {}, ranges).value_or(false));
  });
}

}  // namespace etc
