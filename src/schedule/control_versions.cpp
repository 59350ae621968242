#include "schedule/control_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// An operand of a call that is a given buffer.
struct Use {
  NodeId call;
  size_t arg;
  NodeId repeat;  // the innermost one around the call; absent: none
  Access access;
  bool in_range;  // the task range is read from it
};
using Uses = std::map<TensorId, std::vector<Use>>;

/// The uses of all buffers, in program order. What stands in two repeats is as if in none.
void CollectUses(const Module& module, const std::vector<NodeId>& nodes, NodeId repeat,
                 Uses& uses) {
  for (NodeId id : nodes) {
    const Node& node = module.nodes[id];
    if (const auto* call = std::get_if<CallNode>(&node)) {
      const Device& device = module.devices[call->callee];
      for (size_t i = 0; i < call->args.size(); ++i) {
        uses[call->args[i].tensor].push_back({id, i, repeat,
                                              module.tensors[device.params[i]].access,
                                              ReadsTensor(module, device.tasks, device.params[i])});
      }
    } else if (const auto* inner = std::get_if<Repeat>(&node)) {
      CollectUses(module, inner->body, repeat ? NodeId{} : id, uses);
    } else if (const auto* region = std::get_if<Region>(&node)) {
      CollectUses(module, region->body, repeat, uses);
    }
  }
}

/// Whether each iteration of one repeat writes the whole buffer before it reads it.
bool IsOfIterations(const Module& module, const std::vector<Use>& uses) {
  const Use& first = uses.front();
  return first.repeat && first.access == Access::Out &&
         std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
           const auto& call = std::get<CallNode>(module.nodes[use.call]);
           return use.repeat == first.repeat && call.args[use.arg].indices.empty() &&
                  use.access != Access::InOut;
         });
}

}  // namespace

void VersionControlBuffers(Module& module, const Graph& graph, bool remarks,
                           Diagnostics& diagnostics) {
  Uses uses;
  CollectUses(module, graph.body, {}, uses);
  for (const auto& [buffer, of_buffer] : uses) {
    bool controls = std::any_of(of_buffer.begin(), of_buffer.end(),
                                [](const Use& use) { return use.in_range; });
    if (!controls || module.tensors[buffer].kind != TensorKind::Buffer ||
        !IsOfIterations(module, of_buffer)) {
      continue;
    }
    const Repeat repeat = std::get<Repeat>(module.nodes[of_buffer.front().repeat]);
    auto lo = EvaluateInt(module, repeat.lo, {});
    if (!lo) {
      continue;
    }
    ExprId extent = MakeAdd(module, Clone(module, repeat.hi, {}), MakeInt(module, -*lo));
    ExprId index = MakeAdd(module, MakeRef(module, repeat.var), MakeInt(module, -*lo));
    Tensor& tensor = module.tensors[buffer];
    tensor.shape.insert(tensor.shape.begin(), extent);
    for (const Use& use : of_buffer) {
      std::get<CallNode>(module.nodes[use.call]).args[use.arg].indices = {Clone(module, index, {})};
    }
    if (remarks) {
      diagnostics.Remark(
          DiagnosticKind::DerivedEvent, tensor.range,
          fmt::format(
              "`%{}` gets an axis for the iterations of `{}`: task ranges are read from it, "
              "so it is not written again in the launch",
              tensor.name, module.symbols[repeat.var].name));
    }
  }
}

}  // namespace etc
