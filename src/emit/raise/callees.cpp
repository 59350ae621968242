#include "emit/raise/callees.h"

#include <algorithm>

#include "ir/walk.h"

namespace etc {
namespace {

/// What is promised of a parameter by others that are computed is not known before, either.
void AddRelated(const Module& module, const Device& device, std::set<TensorId>& params) {
  for (TensorId param : device.params) {
    for (ExprId bound : {module.tensors[param].value_lo, module.tensors[param].value_hi}) {
      VisitExprs(module, bound, [&](ExprId id) {
        const auto* load = std::get_if<Load>(&module.exprs[id]);
        if (load != nullptr && params.contains(load->tensor)) {
          params.insert(param);
        }
      });
    }
  }
}

}  // namespace

std::vector<DeviceId> DevicesOf(const Module& module, const Kernel& kernel) {
  std::vector<DeviceId> devices;
  for (const ShareSite& site : SharesOf(module, kernel)) {
    DeviceId callee = std::get<Share>(module.nodes[site.share]).callee;
    if (std::find(devices.begin(), devices.end(), callee) == devices.end()) {
      devices.push_back(callee);
    }
  }
  return devices;
}

std::set<TensorId> ParamsWithFlags(const Module& module, const Kernel& kernel,
                                   bool Tensor::*flags) {
  std::set<TensorId> params;
  for (const ShareSite& site : SharesOf(module, kernel)) {
    const Share& share = std::get<Share>(module.nodes[site.share]);
    for (size_t i = 0; i < share.args.size(); ++i) {
      if (module.tensors[share.args[i].tensor].*flags) {
        params.insert(module.devices[share.callee].params[i]);
      }
    }
  }
  return params;
}

std::set<TensorId> ComputedParams(const Module& module, const Kernel& kernel) {
  std::set<TensorId> params;
  for (const ShareSite& site : SharesOf(module, kernel)) {
    const Share& share = std::get<Share>(module.nodes[site.share]);
    const Device& device = module.devices[share.callee];
    for (size_t i = 0; i < share.args.size(); ++i) {
      const Tensor& argument = module.tensors[share.args[i].tensor];
      bool is_computed = argument.kind == TensorKind::Buffer || argument.access != Access::In;
      if (is_computed && module.tensors[device.params[i]].access != Access::Out) {
        params.insert(device.params[i]);
      }
    }
    AddRelated(module, device, params);
  }
  return params;
}

}  // namespace etc
