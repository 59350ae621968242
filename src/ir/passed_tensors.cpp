#include "ir/passed_tensors.h"

#include "ir/walk.h"

namespace etc {

std::set<TensorId> PassedTensors(const Module& module, const std::vector<NodeId>& nodes) {
  std::set<TensorId> passed;
  VisitNodes(module, nodes, [&](NodeId id) {
    if (const auto* call = std::get_if<CallNode>(&module.nodes[id])) {
      for (const Argument& argument : call->args) {
        passed.insert(argument.tensor);
      }
    }
  });
  return passed;
}

}  // namespace etc
