// The record that a failed debug check or a watchdog leaves in the header of the event memory:
// docs/runtime.md.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

struct CheckRecord {
  uint32_t failures;  // 0: the rest means nothing
  // Number of the first check that failed, or of a wait and kWaitBit, or kLeftOut.
  uint32_t check;
  std::array<int64_t, 12> values;
};

/// Where it stands in the event memory, in bytes.
inline constexpr int64_t kCheckRecordOffset = 8;

/// In the number of a wait that a watchdog has ended.
inline constexpr uint32_t kWaitBit = uint32_t{1} << 31;

/// Data ask for more tasks than a queue has places: so many, of so many.
inline constexpr uint32_t kLeftOut = uint32_t{1} << 30;

/// Whether a launch of the program may leave a failure behind.
bool MayFail(const manifest::Manifest& manifest);

/// The text of the check or the wait, with the values in the places of `{}` and `{ranks}`.
Status FailureOf(const manifest::Manifest& manifest, const CheckRecord& record);

}  // namespace etc::runtime
