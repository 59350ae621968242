#include "schedule/cost_model.h"
#include "schedule/lower.h"

namespace etc {
namespace {

/// The least sizes that the kernel serves: where the loader has most to run ahead of.
Env LeastSizes(const Module& module, const Kernel& kernel) {
  Env dims;
  for (SymbolId symbol : module.symbols.Ids()) {
    if (module.symbols[symbol].kind == SymbolKind::Dim) {
      if (auto lo = EvaluateInt(module, module.symbols[symbol].lo, {})) {
        dims[symbol] = *lo;
      }
    }
  }
  for (const Where& where : kernel.where) {
    if (auto lo = EvaluateInt(module, where.lo, {})) {
      dims[where.dim] = *lo;
    }
  }
  return dims;
}

}  // namespace

bool PaceLoader(Module& module, const ScheduleOptions&, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    Kernel& kernel = module.kernels[id];
    if (auto choice = ChoosePace(CostOf(module, kernel, LeastSizes(module, kernel)))) {
      kernel.pace = choice->pace;
    }
  }
  return true;
}

}  // namespace etc
