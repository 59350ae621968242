#include "emit/raise/unchecked.h"

#include <fmt/format.h>

#include <set>

#include "emit/raise/callees.h"

namespace etc {
namespace {

void WarnOf(const Device& device, const Tensor& param, Arch arch, Diagnostics& diagnostics) {
  std::string what = param.distinct   ? "`distinct`"
                     : param.monotone ? "`monotone`"
                     : param.counts   ? "`counts`"
                                      : "";
  if (param.value_lo && FindImpl(device, Spelling(arch)) != nullptr) {
    what = what.empty() ? "the range of its values" : "the range of its values, and " + what;
  }
  if (!what.empty()) {
    diagnostics.Warning(
        DiagnosticKind::NotChecked, param.range,
        fmt::format("what `@{}` asks of `%{}` is not checked where the program computes it: {}",
                    device.name, param.name, what));
  }
}

/// Whether a share checks before its tasks all that its device function asks of an argument.
bool ChecksArgument(const Share& share, const Tensor& param, TensorId argument) {
  for (const auto* checks : {&share.range_checks, &share.enter_checks}) {
    for (const Check& check : *checks) {
      if (check.tensor == argument && (check.distinct || !param.distinct) &&
          (check.monotone || !param.monotone) && (check.counts || !param.counts) &&
          (check.value_lo || !param.value_lo)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

void WarnOfUnchecked(const Module& module, Arch arch, Diagnostics& diagnostics) {
  std::set<TensorId> warned;
  for (const Kernel& kernel : module.kernels) {
    if (!kernel.check_accesses) {
      continue;
    }
    std::set<TensorId> computed = ComputedParams(module, kernel);
    for (const ShareSite& site : SharesOf(module, kernel)) {
      const Share& share = std::get<Share>(module.nodes[site.share]);
      const Device& device = module.devices[share.callee];
      for (size_t i = 0; i < device.params.size(); ++i) {
        TensorId param = device.params[i];
        if (computed.contains(param) &&
            !ChecksArgument(share, module.tensors[param], share.args[i].tensor) &&
            warned.insert(param).second) {
          WarnOf(device, module.tensors[param], arch, diagnostics);
        }
      }
    }
  }
}

}  // namespace etc
