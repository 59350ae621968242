#include "verify/phased.h"

#include <fmt/format.h>

#include <map>

#include "analysis/events_in_words.h"

namespace etc {

void CheckPhased(const Module&, const Tensor& tensor, Diagnostics& diagnostics) {
  if (!tensor.tile.empty() || tensor.type != DType::F32) {
    diagnostics.Error(
        DiagnosticKind::Type, tensor.range,
        fmt::format("`%{}` is phased, so it must be a row-major tensor of `f32`", tensor.name));
  }
}

void CheckWords(const Module& module, const Kernel& kernel, Diagnostics& diagnostics) {
  std::map<TensorId, EventId> events;
  for (NodeId id : kernel.declarations) {
    const auto* declaration = std::get_if<EventDecl>(&module.nodes[id]);
    if (declaration == nullptr ||
        module.events[declaration->event].realisation != Realisation::Words) {
      continue;
    }
    const Event& event = module.events[declaration->event];
    auto words = WordsOf(module, kernel, declaration->event);
    auto obstacle = FindWordsObstacle(module, kernel, declaration->event);
    if (!obstacle && words && !events.emplace(*words, declaration->event).second) {
      obstacle = ViaObstacle{
          event.range, fmt::format("`%{}` has the turns of `%{}`", module.tensors[*words].name,
                                   module.events[events.at(*words)].name)};
    }
    if (obstacle) {
      diagnostics
          .Error(DiagnosticKind::Via, obstacle->range,
                 fmt::format("`%{}` is `via words`, but {}", event.name, obstacle->why))
          .notes.push_back({event.range, fmt::format("`%{}` is declared here", event.name)});
      if (words) {
        events.emplace(*words, declaration->event);
      }
    }
  }
  for (NodeId id : kernel.declarations) {
    const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id]);
    if (buffer != nullptr && module.tensors[buffer->tensor].phased &&
        !events.contains(buffer->tensor)) {
      diagnostics.Error(DiagnosticKind::Via, module.RangeOf(id),
                        fmt::format("`%{}` is phased, but no event is `via words` of it",
                                    module.tensors[buffer->tensor].name));
    }
  }
}

}  // namespace etc
