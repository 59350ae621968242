// The record that a failed debug check leaves in the header of the event memory: docs/runtime.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace etc::runtime {

struct CheckRecord {
  uint32_t failures;  // 0: the rest means nothing
  uint32_t check;     // number of the first that failed
  std::array<int64_t, 12> values;
};

/// Where it stands in the event memory, in bytes.
inline constexpr int64_t kCheckRecordOffset = 8;

/// The text of the check, with the values in the places of `{}`.
std::string FailureText(const std::vector<std::string>& checks, const CheckRecord& record);

}  // namespace etc::runtime
