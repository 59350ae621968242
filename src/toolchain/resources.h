// What each kernel of a cubin takes, from the cubin and from ptxas' report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "toolchain/cubin.h"

namespace etc {

struct KernelResources {
  std::string entry;
  int64_t registers = 0;  // of a thread
  int64_t barriers = 0;
  int64_t stack_bytes = 0;
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  LocalAccesses local_accesses;
  int64_t ring_slots = 0;  // 0: it has no ring
  int64_t ring_slot_bytes = 0;
};

/// The variable with which the emitted text states a kernel's ring: its slots and their bytes.
std::string RingVariable(std::string_view entry);

/// One for each `Compiling entry function` of the log of ptxas -v, in the order of their names,
/// each from the cubin that has it.
[[nodiscard]] std::vector<KernelResources> ReadResources(
    std::string_view log, const std::vector<std::string_view>& cubins);

/// The log without ptxas' report: what is left are warnings.
[[nodiscard]] std::string WithoutReport(std::string_view log);

}  // namespace etc
