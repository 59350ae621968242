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

void Hoist(const Module& module, Share& share) {
  std::vector<SymbolId> vars;
  for (const Axis& axis : share.axes) {
    vars.push_back(axis.var);
  }
  std::vector<EventRef> common = TakeCommonWaits(module, share.waits, vars);
  share.enter_waits.insert(share.enter_waits.end(), common.begin(), common.end());
  HoistNotifies(module, share, vars);
}

}  // namespace

bool HoistEvents(Module& module, const ScheduleOptions&, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    for (const ShareSite& site : SharesOf(module, module.kernels[id])) {
      Hoist(module, std::get<Share>(module.nodes[site.share]));
    }
  }
  return true;
}

}  // namespace etc
