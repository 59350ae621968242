#include "ir/evaluate.h"
#include "ir/queue.h"
#include "ir/rewrite.h"
#include "schedule/choose_via.h"
#include "schedule/lower.h"
#include "schedule/name_value.h"

namespace etc {
namespace {

/// How many counters hold the places of a queue.
ExprId LinesOf(Module& module, ExprId capacity) {
  if (auto value = EvaluateInt(module, capacity, {})) {
    return MakeInt(module, (*value + kPlacesPerCounter - 1) / kPlacesPerCounter);
  }
  return module.AddExpr(Call{Intrinsic::CeilDiv, {capacity, MakeInt(module, kPlacesPerCounter)}});
}

}  // namespace

bool RealiseEvents(Module& module, const ScheduleOptions&, Diagnostics&) {
  for (KernelId each : module.kernels.Ids()) {
    ChooseVia(module, each);
    Kernel& kernel = module.kernels[each];
    ExprId next = MakeInt(module, 0), next_of_cta = next;
    for (NodeId id : kernel.declarations) {
      const auto* declaration = std::get_if<EventDecl>(&module.nodes[id]);
      if (declaration == nullptr || !HasCounters(module.events[declaration->event].realisation)) {
        continue;
      }
      ExprId counters = MakeInt(module, 1);
      const std::vector<EventDim> dims = module.events[declaration->event].dims;
      for (const EventDim& dim : dims) {
        counters = MakeMul(module, counters, dim.extent);
      }
      Event& event = module.events[declaration->event];
      ExprId& begin = event.realisation == Realisation::Shared ? next_of_cta : next;
      event.first = NameValue(module, kernel, "counters_before_" + event.name, begin);
      begin = MakeAdd(module, event.first, counters);
    }
    for (const ShareSite& site : DispatchesOf(module, kernel)) {
      const auto dispatch =
          std::get<Dispatch>(module.nodes[site.dispatch]);  // a copy: the nodes grow
      ExprId counters = MakeInt(module, DispatchCounters(module, dispatch));
      if (dispatch.capacity) {
        counters = MakeAdd(module, counters, LinesOf(module, dispatch.capacity));
      }
      for (const Axis& iterations : IterationsOf(module, site)) {
        ExprId count =
            iterations.lo ? MakeSub(module, iterations.hi, iterations.lo) : iterations.hi;
        counters = MakeMul(module, count, counters);
      }
      ExprId first = NameValue(module, kernel, "counters_before_tickets", next);
      std::get<Dispatch>(module.nodes[site.dispatch]).tickets = first;
      next = MakeAdd(module, first, counters);
    }
    InlineSingleUses(module, kernel);
  }
  return true;
}

}  // namespace etc
