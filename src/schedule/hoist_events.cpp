#include <algorithm>

#include "ir/rewrite.h"
#include "schedule/lower.h"

namespace etc {
namespace {

bool DependsOnTask(const Module& module, const EventRef& ref, const std::vector<SymbolId>& vars) {
  auto mentions = [&](ExprId id) { return id && Mentions(module, id, vars); };
  return std::any_of(ref.indices.begin(), ref.indices.end(),
                     [&](const EventIndex& i) { return mentions(i.lo) || mentions(i.hi); }) ||
         std::any_of(ref.axes.begin(), ref.axes.end(),
                     [&](const Axis& a) { return mentions(a.lo) || mentions(a.hi); }) ||
         mentions(ref.guard);
}

void Hoist(const Module& module, std::vector<EventRef>& each, std::vector<EventRef>& once,
           const std::vector<SymbolId>& vars) {
  auto stays = [&](const EventRef& ref) { return DependsOnTask(module, ref, vars); };
  auto middle = std::stable_partition(each.begin(), each.end(), stays);
  once.insert(once.end(), middle, each.end());
  each.erase(middle, each.end());
}

void Hoist(Module& module, const std::vector<NodeId>& nodes) {
  for (NodeId id : nodes) {
    if (auto* share = std::get_if<Share>(&module.nodes[id])) {
      std::vector<SymbolId> vars;
      for (const Axis& axis : share->axes) {
        vars.push_back(axis.var);
      }
      Hoist(module, share->waits, share->enter_waits, vars);
      Hoist(module, share->notifies, share->leave_notifies, vars);
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
