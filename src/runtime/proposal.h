// What a rank is about to launch, for the others to agree to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/status.h"
#include "runtime/symmetric_memory.h"

namespace etc::runtime {

struct Proposal {
  Status status;  // why it cannot launch
  std::vector<int64_t> dims;
  SymmetricSizes needed;
  uint64_t launches = 0;      // so far, in the memory as it is
  bool has_memory = false;    // and it suffices
  bool was_captured = false;  // a captured launch has its addresses
  bool has_failed = false;    // a launch of it
};

std::string ToWire(const Proposal& proposal);
Status FromWire(const std::string& text, Proposal* proposal);

}  // namespace etc::runtime
