#include "schedule/lower.h"

namespace etc {
namespace {

void Strip(Module& module, std::vector<NodeId>& nodes) {
  std::erase_if(nodes,
                [&](NodeId id) { return std::holds_alternative<EventDecl>(module.nodes[id]); });
  for (NodeId id : nodes) {
    Node& node = module.nodes[id];
    if (auto* call = std::get_if<CallNode>(&node)) {
      call->waits.clear();
      call->notifies.clear();
    } else if (auto* repeat = std::get_if<Repeat>(&node)) {
      Strip(module, repeat->body);
    } else if (auto* region = std::get_if<Region>(&node)) {
      Strip(module, region->body);
    }
  }
}

}  // namespace

bool StripEvents(Module& module, const ScheduleOptions&, Diagnostics&) {
  for (GraphId id : module.graphs.Ids()) {
    Strip(module, module.graphs[id].body);
  }
  return true;
}

}  // namespace etc
