// Events that peers notify, in words of the data that they announce: without the fence in front of
// a signal between ranks, which takes longer than the data
// (docs/log/2026-11-29-words-with-phases.md).

#include "analysis/events_in_words.h"

#include <algorithm>
#include <map>

#include "analysis/shapes.h"
#include "ir/evaluate.h"
#include "schedule/lower.h"

namespace etc {
namespace {

/// A task that waits looks at all of its words again and again, and they double what it reads.
constexpr int64_t kMostRows = 64;

/// Whether a buffer of peers may be phased as far as its type says.
bool MayBePhased(const Module& module, const Tensor& tensor, const DimRanges& ranges) {
  constexpr int64_t kRun = 4;  // words that an implementation loads and stores at once
  if (tensor.kind != TensorKind::Buffer || !tensor.symmetric || HasFlags(tensor) ||
      tensor.type != DType::F32 || !tensor.tile.empty() || tensor.shape.size() < 2 ||
      !IsMultiple(module, tensor.shape.back(), kRun)) {
    return false;
  }
  auto rows = Bounds(module, tensor.shape[tensor.shape.size() - 2], {}, ranges);
  return rows && rows->hi <= kMostRows;
}

/// A buffer that a share which notifies the event writes, if it may be phased.
std::optional<TensorId> Announced(const Module& module, const Kernel& kernel, EventId event) {
  const DimRanges ranges = RangesOf(module, kernel);
  auto is_event = [&](const EventRef& ref) { return ref.event == event; };
  for (const ShareSite& site : SharesOf(module, kernel)) {
    const auto& share = std::get<Share>(module.nodes[site.share]);
    bool notifies = std::any_of(share.notifies.begin(), share.notifies.end(), is_event) ||
                    std::any_of(share.leave_notifies.begin(), share.leave_notifies.end(), is_event);
    for (size_t i = 0; notifies && i < share.args.size(); ++i) {
      TensorId param = module.devices[share.callee].params[i];
      if (module.tensors[param].access != Access::In &&
          MayBePhased(module, module.tensors[share.args[i].tensor], ranges)) {
        return share.args[i].tensor;
      }
    }
  }
  return std::nullopt;
}

/// All words with flags of a kernel are in one memory.
bool HasFlagsElsewhere(const Module& module, const Kernel& kernel) {
  return std::any_of(kernel.declarations.begin(), kernel.declarations.end(), [&](NodeId id) {
    const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id]);
    return buffer != nullptr && HasFlags(module.tensors[buffer->tensor]) &&
           !module.tensors[buffer->tensor].symmetric;
  });
}

void Realise(Module& module, KernelId id) {
  const Kernel& kernel = module.kernels[id];
  std::map<EventId, TensorId> realised;
  for (NodeId node : kernel.declarations) {
    const auto* declaration = std::get_if<EventDecl>(&module.nodes[node]);
    if (declaration == nullptr || !module.events[declaration->event].symmetric ||
        module.events[declaration->event].realisation != Realisation::Unset) {
      continue;
    }
    auto words = Announced(module, kernel, declaration->event);
    if (!words) {
      continue;
    }
    module.tensors[*words].phased = true;
    if (FindWordsObstacle(module, kernel, declaration->event)) {
      module.tensors[*words].phased = false;
    } else {
      module.events[declaration->event].realisation = Realisation::Words;
      realised.emplace(declaration->event, *words);
    }
  }
  if (realised.empty()) {
    return;
  }
  for (EventId event : NotAllSeen(module, id)) {
    module.events[event].realisation = Realisation::Unset;
    module.tensors[realised.at(event)].phased = false;
  }
}

}  // namespace

bool EventsInWords(Module& module, const ScheduleOptions& options, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    const Kernel& kernel = module.kernels[id];
    // A watchdog looks at counters.
    if (kernel.schedule == ScheduleKind::Static && !options.HasWatchdog() &&
        !HasFlagsElsewhere(module, kernel)) {
      Realise(module, id);
    }
  }
  return true;
}

}  // namespace etc
