// The references to events that a share has.
#pragma once

#include <array>
#include <vector>

#include "ir/node.h"

namespace etc {

/// All of them but the trigger that pushes it: what it arrives at, waits for and notifies.
inline std::array<const std::vector<EventRef>*, 8> RefsOf(const Share& share) {
  return {&share.arrivals,    &share.after_waits, &share.after_arrivals, &share.range_waits,
          &share.enter_waits, &share.waits,       &share.notifies,       &share.leave_notifies};
}

}  // namespace etc
