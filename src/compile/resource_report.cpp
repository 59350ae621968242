#include "compile/resource_report.h"

#include <fmt/format.h>

#include "emit/entries.h"

namespace etc {

std::string ResourceText(const Module& module, const std::vector<KernelResources>& kernels) {
  std::string text;
  for (const KernelResources& kernel : kernels) {
    int64_t shared = 0;
    for (const Kernel& scheduled : module.kernels) {
      shared = EntryName(scheduled) == kernel.entry ? scheduled.shared_bytes : shared;
    }
    std::string ring = kernel.ring_slots == 0
                           ? "no ring"
                           : fmt::format("a ring of {} slots of {} bytes", kernel.ring_slots,
                                         kernel.ring_slot_bytes);
    text += fmt::format("{}: {} registers, {} barriers, {} bytes of shared memory, {}\n",
                        kernel.entry, kernel.registers, kernel.barriers, shared, ring);
    text += fmt::format(
        "  {} bytes of stack, {} bytes spilled and {} read back; "
        "{} instructions use local memory, {} of them in inner loops\n",
        kernel.stack_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes,
        kernel.local_accesses.all, kernel.local_accesses.in_inner_loops);
  }
  return text;
}

bool CheckSpills(const std::vector<KernelResources>& kernels, Diagnostics& diagnostics) {
  bool ok = true;
  for (const KernelResources& kernel : kernels) {
    if (kernel.local_accesses.in_inner_loops > 0) {
      ok = false;
      diagnostics
          .Error(DiagnosticKind::Spill, {},
                 fmt::format("an inner loop of `{}` uses local memory", kernel.entry))
          .notes.push_back({{},
                            "registers are spilled there, or an array is indexed by what is not "
                            "constant; `--resource-usage` alone prints how much"});
    }
  }
  return ok;
}

}  // namespace etc
