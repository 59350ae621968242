#include "ir/rewrite.h"
#include "schedule/kernel_builder.h"
#include "schedule/lower.h"

namespace etc {
namespace {

void HoistNotifies(const Module& module, Share& share, const std::vector<SymbolId>& vars) {
  std::vector<EventRef> stay;
  for (EventRef& notify : share.notifies) {
    (Mentions(module, notify, vars) ? stay : share.leave_notifies).push_back(std::move(notify));
  }
  share.notifies = std::move(stay);
}

void Hoist(Module& module, const std::vector<NodeId>& nodes) {
  for (NodeId id : nodes) {
    if (auto* share = std::get_if<Share>(&module.nodes[id])) {
      std::vector<SymbolId> vars;
      for (const Axis& axis : share->axes) {
        vars.push_back(axis.var);
      }
      std::vector<EventRef> common = TakeCommonWaits(module, share->waits, vars);
      share->enter_waits.insert(share->enter_waits.end(), common.begin(), common.end());
      HoistNotifies(module, *share, vars);
    } else if (auto* repeat = std::get_if<Repeat>(&module.nodes[id])) {
      Hoist(module, repeat->body);
    }
  }
}

}  // namespace

bool HoistEvents(Module& module, const ScheduleOptions&, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    Hoist(module, module.kernels[id].body);
  }
  return true;
}

}  // namespace etc
