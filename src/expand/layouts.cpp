#include "expand/layouts.h"

#include <algorithm>

#include "ir/walk.h"

namespace etc {

void TakeLayouts(Module& module, const std::vector<NodeId>& nodes,
                 const std::set<DeviceId>& imported) {
  VisitNodes(module, nodes, [&](NodeId id) {
    const auto* call = std::get_if<CallNode>(&module.nodes[id]);
    if (call == nullptr || !imported.contains(call->callee)) {
      return;
    }
    const std::vector<TensorId>& params = module.devices[call->callee].params;
    for (size_t i = 0; i < std::min(params.size(), call->args.size()); ++i) {
      const Tensor& param = module.tensors[params[i]];
      Tensor& tensor = module.tensors[call->args[i].tensor];
      if (tensor.tile.empty()) {
        tensor.tile = param.tile;
        tensor.swizzled = param.swizzled;
      }
    }
  });
}

}  // namespace etc
