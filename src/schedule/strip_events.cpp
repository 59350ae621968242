#include "ir/overloaded.h"
#include "schedule/lower.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

void Strip(Module& module, std::vector<NodeId>& nodes) {
  std::erase_if(nodes,
                [&](NodeId id) { return std::holds_alternative<EventDecl>(module.nodes[id]); });
  for (NodeId id : nodes) {
    std::visit(Overloaded{
                   [](CallNode& call) {
                     call.waits.clear();
                     call.notifies.clear();
                   },
                   [&](OneOf<Repeat, Region> auto& around) { Strip(module, around.body); },
                   [](const OneOf<BufferDecl, EventDecl> auto&) {},
                   [](const OneOf<Share, Dispatch> auto&) { ETC_CHECK(!"a share inside a graph"); },
               },
               module.nodes[id]);
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
