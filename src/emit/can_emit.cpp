#include "emit/can_emit.h"

#include <fmt/format.h>

#include "ir/evaluate.h"

namespace etc {

bool CanEmit(const Module& module, Diagnostics& diagnostics) {
  bool ok = true;
  auto missing = [&](SourceRange range, std::string message) {
    diagnostics.Error(DiagnosticKind::Structure, range, std::move(message));
    ok = false;
  };
  size_t kernels = 0;
  for (const Item& item : module.items) {
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      missing(
          module.graphs[*graph].range,
          fmt::format("graph `@{}` is not scheduled; the passes of `etc opt` make a kernel of it",
                      module.graphs[*graph].name));
    }
    kernels += std::holds_alternative<KernelId>(item) ? 1 : 0;
  }
  if (kernels == 0 && ok) {
    missing({}, "there is nothing to compile: the program has no graph");
  }
  for (const Kernel& kernel : module.kernels) {
    bool first_tagged = false;
    for (NodeId id : kernel.declarations) {
      if (const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id])) {
        const Tensor& tensor = module.tensors[buffer->tensor];
        if (!tensor.offset) {
          missing(module.RangeOf(id),
                  fmt::format("buffer `%{}` has no place in the workspace; pass "
                              "`plan-memory` gives it one",
                              tensor.name));
        } else if (tensor.tagged && !first_tagged) {
          first_tagged = true;
          auto offset = EvaluateInt(module, tensor.offset, {});
          if (!offset || *offset < kTagHeaderBytes) {
            missing(module.RangeOf(id),
                    fmt::format("`%{}` is the first tagged buffer, so its place must be a constant "
                                "of at least {}: the state of the tags stands before it",
                                tensor.name, kTagHeaderBytes));
          }
        }
      } else if (const auto* event = std::get_if<EventDecl>(&module.nodes[id])) {
        if (module.events[event->event].realisation == Realisation::Unset) {
          missing(module.RangeOf(id), fmt::format("event `%{}` has no `via`; pass `realise-events` "
                                                  "chooses how it is realised",
                                                  module.events[event->event].name));
        }
      }
    }
  }
  return ok;
}

}  // namespace etc
