// What a launch needs: memory for buffers and counters, and how many tasks it has.

#include <algorithm>

#include "analysis/events_of_sm.h"
#include "emit/raise/passes.h"
#include "ir/evaluate.h"

namespace etc {
namespace {

/// The buffers, and the last counters: those of each event come behind those before it, and tickets
/// behind them, which the verifier checks.
void SizeMemory(const Module& module, RaisedKernel& raised) {
  for (NodeId id : raised.kernel.declarations) {
    if (const auto* declaration = std::get_if<BufferDecl>(&module.nodes[id])) {
      const Tensor& tensor = module.tensors[declaration->tensor];
      RaisedPlace place{tensor.offset, BytesPerElement(tensor), tensor.shape};
      if (HasFlags(tensor)) {
        raised.flag_buffers.push_back(place);
        raised.symmetric_flags = tensor.symmetric;
        // CanEmit has seen that the first one's place is a constant.
        if (auto offset = EvaluateInt(module, tensor.offset, {})) {
          raised.flags_begin = std::min(raised.flags_begin.value_or(*offset), *offset);
        }
      }
      (tensor.symmetric ? raised.symmetric : raised.buffers).push_back(std::move(place));
    } else if (const auto* counters = std::get_if<EventDecl>(&module.nodes[id])) {
      const Event& event = module.events[counters->event];
      if (event.realisation != Realisation::Counter) {
        continue;
      }
      RaisedPlace place{event.first, 1, {}};
      for (const EventDim& dim : event.dims) {
        place.extents.push_back(dim.extent);
      }
      raised.last_counters = std::move(place);
    }
  }
  for (const ShareSite& site : DispatchesOf(module, raised.kernel)) {
    const RaisedTickets& tickets = raised.shares.at(site.share).tickets.value();
    raised.last_counters =
        RaisedPlace{tickets.first, tickets.counters, {}, tickets.iterations, tickets.capacity};
  }
}

}  // namespace

void SizeLaunches(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    SizeMemory(raised.module, kernel);
    kernel.cta_counters = CtaCounters(raised.module, kernel.kernel).value();
    raised.has_cta_counters |= kernel.cta_counters > 0;
    for (RaisedLaunch& launch : kernel.launches) {
      const RaisedShare& share = kernel.shares.at(launch.share);
      if (!share.reads_ranges && share.loops == 0) {
        launch.tasks = share.share.axes;
      }
    }
  }
}

}  // namespace etc
