#include "emit/raise/can_emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "emit/raise/callees.h"
#include "emit/raise/graph_dims.h"
#include "ir/evaluate.h"
#include "ir/loader_reads.h"
#include "ir/walk.h"
#include "target/target.h"

namespace etc {

namespace {

/// The arguments of a device function that an implementation uses have members for the extents of
/// its parameters, and for their layouts.
bool HasClearNames(const Module& module, const Device& device, Diagnostics& diagnostics) {
  std::map<std::string, const Tensor*> members;
  for (TensorId id : device.params) {
    const Tensor& tensor = module.tensors[id];
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      members[fmt::format("{}_{}", tensor.name, axis)] = &tensor;
    }
    for (size_t axis = 0; axis < tensor.tile.size(); ++axis) {
      members[fmt::format("{}_tile_{}", tensor.name, axis)] = &tensor;
    }
    if (tensor.swizzled) {
      members[tensor.name + "_swizzle"] = &tensor;
    }
  }
  for (const Impl& impl : device.impls) {
    for (const Box& box : impl.boxes) {
      const Tensor& tensor = module.tensors[box.tensor];
      for (const char* member : {"_map", "_slice", "_box_0", "_box_1"}) {
        members[tensor.name + member] = &tensor;
      }
    }
  }
  bool ok = true;
  for (TensorId id : device.params) {
    const Tensor& tensor = module.tensors[id];
    if (auto member = members.find(tensor.name); member != members.end()) {
      const Tensor& other = *member->second;
      diagnostics
          .Error(DiagnosticKind::DuplicateName, tensor.range,
                 fmt::format("`{}` says the shape or the layout of `%{}` in the C++ of `@{}`, so "
                             "`%{}` needs another name",
                             tensor.name, other.name, device.name, tensor.name))
          .notes.push_back({other.range, fmt::format("`%{}` is declared here", other.name)});
      ok = false;
    }
  }
  return ok;
}

/// What there is once in an artifact must be the same for all of its kernels.
bool KernelsAgree(const Module& module, Diagnostics& diagnostics) {
  bool ok = true;
  for (const Kernel& kernel : module.kernels) {
    int64_t warps =
        module.kernels[KernelId{static_cast<uint32_t>(module.kernels.size() - 1)}].consumer_warps;
    if (kernel.consumer_warps != warps) {
      diagnostics.Error(DiagnosticKind::Unsupported, kernel.range,
                        fmt::format("kernel `@{}` has {} consumer warps, another {}: they must "
                                    "agree within one artifact",
                                    kernel.name, kernel.consumer_warps, warps));
      ok = false;
    }
  }
  return ok;
}

/// What a launch asks of an SM, it has.
bool LaunchesFit(const Module& module, Arch arch, Diagnostics& diagnostics) {
  const std::vector<int64_t> warps = ConsumerWarps(arch);
  const std::optional<int64_t> most = MostSharedBytes(arch);
  bool ok = true;
  for (const Kernel& kernel : module.kernels) {
    SourceRange range = kernel.launch.IsValid() ? kernel.launch : kernel.range;
    if (std::find(warps.begin(), warps.end(), kernel.consumer_warps) == warps.end()) {
      diagnostics.Error(
          DiagnosticKind::Unsupported, range,
          fmt::format("`@{}` has {} consumer warps, and a CTA for {} has {}", kernel.name,
                      kernel.consumer_warps, Spelling(arch), fmt::join(warps, " or ")));
      ok = false;
    }
    if (most && kernel.shared_bytes > *most) {
      diagnostics.Error(DiagnosticKind::Unsupported, range,
                        fmt::format("`@{}` has {} bytes of shared memory, and a CTA for {} has {} "
                                    "at most",
                                    kernel.name, kernel.shared_bytes, Spelling(arch), *most));
      ok = false;
    }
  }
  return ok;
}

/// The operands with boxes that a kernel passes, for the implementations of `arch`.
std::set<std::pair<TensorId, TensorId>> BoxedArguments(const Module& module, const Kernel& kernel,
                                                       Arch arch) {
  std::set<std::pair<TensorId, TensorId>> boxed;
  for (const ShareSite& site : SharesOf(module, kernel)) {
    const Share& share = std::get<Share>(module.nodes[site.share]);
    const Device& device = module.devices[share.callee];
    const Impl* impl = FindImpl(device, Spelling(arch));
    for (size_t i = 0; impl != nullptr && i < share.args.size(); ++i) {
      for (const Box& box : impl->boxes) {
        if (box.tensor == device.params[i]) {
          boxed.insert({share.args[i].tensor, box.tensor});
        }
      }
    }
  }
  return boxed;
}

/// A tensor map is of one address.
bool BoxesFit(const Module& module, Arch arch, Diagnostics& diagnostics) {
  bool ok = true;
  for (const Kernel& kernel : module.kernels) {
    for (const auto& [tensor, param] : BoxedArguments(module, kernel, arch)) {
      if (module.tensors[tensor].array) {
        diagnostics.Error(DiagnosticKind::Unsupported, module.tensors[param].range,
                          fmt::format("`%{}` is copied in boxes, but `%{}` is an array of tensors",
                                      module.tensors[param].name, module.tensors[tensor].name));
        ok = false;
      }
    }
  }
  return ok;
}

/// The addresses of all tensors, the sizes and the tensor maps are arguments of a launch.
bool BlocksFit(const Module& module, Arch arch, Diagnostics& diagnostics) {
  constexpr int64_t kWord = 8;
  constexpr int64_t kOthers = 16;  // memory, a profile and iterations take fewer words
  constexpr int64_t kMap = 16;
  std::optional<int64_t> most = MostLaunchBytes(arch);
  bool ok = true;
  for (const Kernel& kernel : module.kernels) {
    int64_t words = static_cast<int64_t>(GraphDims(module, kernel.graph).size()) + kOthers;
    for (TensorId id : kernel.params) {
      const Tensor& tensor = module.tensors[id];
      words += tensor.array ? EvaluateInt(module, tensor.shape.front(), {}).value() : 1;
    }
    words += kMap * static_cast<int64_t>(BoxedArguments(module, kernel, arch).size());
    if (most && words * kWord > *most) {
      diagnostics.Error(DiagnosticKind::Array, kernel.range,
                        fmt::format("the arguments of a launch of `@{}` have {} bytes, an address "
                                    "for each tensor of its arrays among them, but {} at most",
                                    kernel.name, words * kWord, *most));
      ok = false;
    }
  }
  return ok;
}

/// What a loader has read behind a wait, the consumers take over once, by an object for all tasks
/// of a share. Waits of single tasks ask for an object for each, which would take it again and wait
/// for it without end. Of what task ranges are read from, too, nothing is taken over, as nothing
/// writes it again while the tasks run.
bool LoadersReadOnce(const Module& module, Arch arch, Diagnostics& diagnostics) {
  bool ok = true;
  for (const Kernel& kernel : module.kernels) {
    for (const ShareSite& site : SharesOf(module, kernel)) {
      const Share& share = std::get<Share>(module.nodes[site.share]);
      const Device& device = module.devices[share.callee];
      const Impl* impl = FindImpl(device, Spelling(arch));
      for (size_t i = 0; impl != nullptr && !share.waits.empty() && i < share.args.size(); ++i) {
        const TensorId tensor = share.args[i].tensor;
        if (!IsReadBehindWait(module, device, device.params[i], tensor) ||
            ReadsTensor(module, share.axes, tensor)) {
          continue;
        }
        diagnostics
            .Error(
                DiagnosticKind::Impl, share.waits.front().range,
                fmt::format("each task of `@{}` waits here by itself, but its loader reads `%{}` "
                            "once for all tasks of the share: the wait must hold for all of "
                            "them, under `enter`",
                            device.name, module.tensors[tensor].name))
            .notes.push_back(
                {module.RangeOf(site.share), fmt::format("`@{}` runs here", device.name)});
        ok = false;
        break;
      }
    }
  }
  return ok;
}

/// A rank whose check failed begins no launch and may leave notifies out, so its peers must be able
/// to give up.
bool RanksFit(const Module& module, Diagnostics& diagnostics) {
  for (const Kernel& kernel : module.kernels) {
    if (module.mesh && HasChecks(kernel) && !kernel.watchdog) {
      diagnostics.Error(DiagnosticKind::Unsupported, module.symbols[module.mesh->size].range,
                        "a program with a mesh has debug checks only with a watchdog, "
                        "`--watchdog N`: ranks would wait without end for one whose check failed");
      return false;
    }
  }
  return true;
}

/// Generated bodies read and write plain tensors.
bool HasNoFlags(const Module& module, Diagnostics& diagnostics) {
  for (const Tensor& tensor : module.tensors) {
    if (HasFlags(tensor)) {
      diagnostics.Error(DiagnosticKind::Unsupported, tensor.range,
                        fmt::format("`%{}` is {}, which the host target does not have", tensor.name,
                                    tensor.flagged ? "flagged" : "phased"));
      return false;
    }
  }
  return true;
}

}  // namespace

bool CanEmit(const Module& module, Arch arch, Diagnostics& diagnostics) {
  bool ok = true;
  auto missing = [&](SourceRange range, std::string message) {
    diagnostics.Error(DiagnosticKind::Structure, range, std::move(message));
    ok = false;
  };
  for (const Item& item : module.items) {
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      missing(
          module.graphs[*graph].range,
          fmt::format("graph `@{}` is not scheduled; the passes of `etc opt` make a kernel of it",
                      module.graphs[*graph].name));
    }
  }
  std::set<DeviceId> devices;
  for (const Kernel& kernel : module.kernels) {
    for (DeviceId id : DevicesOf(module, kernel)) {
      if (FindImpl(module.devices[id], Spelling(arch)) != nullptr && devices.insert(id).second) {
        ok &= HasClearNames(module, module.devices[id], diagnostics);
      }
    }
    for (const ShareSite& site : DispatchesOf(module, kernel)) {
      if (!std::get<Dispatch>(module.nodes[site.dispatch]).tickets) {
        missing(module.RangeOf(site.dispatch),
                "a dispatch has no counters for its tickets; pass `realise-events` gives it some");
      }
    }
    bool first_flagged = false;
    for (NodeId id : kernel.declarations) {
      if (const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id])) {
        const Tensor& tensor = module.tensors[buffer->tensor];
        if (!tensor.offset) {
          missing(module.RangeOf(id),
                  fmt::format("buffer `%{}` has no place in the workspace; pass "
                              "`plan-memory` gives it one",
                              tensor.name));
        } else if (HasFlags(tensor) && !first_flagged) {
          first_flagged = true;
          auto offset = EvaluateInt(module, tensor.offset, {});
          if (!offset || *offset < kFlagHeaderBytes) {
            missing(
                module.RangeOf(id),
                fmt::format("`%{}` is the first flagged buffer, so its place must be a constant "
                            "of at least {}: the state of the flags stands before it",
                            tensor.name, kFlagHeaderBytes));
          }
        }
      } else if (const auto* event = std::get_if<EventDecl>(&module.nodes[id])) {
        const Event& declared = module.events[event->event];
        if (HasCounters(declared.realisation) && !declared.first) {
          missing(module.RangeOf(id),
                  fmt::format("event `%{}` has no place among the counters; pass `realise-events` "
                              "gives it one",
                              declared.name));
        } else if (declared.realisation == Realisation::Unset) {
          missing(module.RangeOf(id), fmt::format("event `%{}` has no `via`; pass `realise-events` "
                                                  "chooses how it is realised",
                                                  declared.name));
        }
      }
    }
  }
  if (arch == Arch::Host) {
    return ok && HasNoFlags(module, diagnostics);
  }
  return RanksFit(module, diagnostics) && LaunchesFit(module, arch, diagnostics) &&
         KernelsAgree(module, diagnostics) && BoxesFit(module, arch, diagnostics) &&
         BlocksFit(module, arch, diagnostics) && LoadersReadOnce(module, arch, diagnostics) && ok;
}

}  // namespace etc
