#include "emit/raise/unchecked.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emit/raise/callees.h"
#include "ir/printer.h"

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

bool IsSame(const Module& module, const std::vector<ExprId>& a, const std::vector<ExprId>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](ExprId x, ExprId y) { return Print(module, x) == Print(module, y); });
}

/// Whether a share checks before its tasks all that its device function asks of an argument.
bool ChecksArgument(const Module& module, const Share& share, const Tensor& param,
                    const Argument& argument) {
  for (const auto* checks : {&share.range_checks, &share.enter_checks, &share.task_checks}) {
    for (const Check& check : *checks) {
      if (check.tensor == argument.tensor && IsSame(module, check.slice, argument.indices) &&
          (check.distinct || !param.distinct) && (check.monotone || !param.monotone) &&
          (check.counts || !param.counts) && (check.value_lo || !param.value_lo)) {
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
            !ChecksArgument(module, share, module.tensors[param], share.args[i]) &&
            warned.insert(param).second) {
          WarnOf(device, module.tensors[param], arch, diagnostics);
        }
      }
    }
  }
}

}  // namespace etc
