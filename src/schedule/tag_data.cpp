// Buffers whose words carry the launch's tag, in the place of the events that announce them.

#include <algorithm>
#include <map>
#include <set>

#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "schedule/lower.h"
#include "verify/checks.h"
#include "verify/shapes.h"

namespace etc {
namespace {

/// One share, and the repeat around it, if any.
struct Site {
  NodeId share;
  NodeId repeat;
  bool nested = false;  // in a repeat of a repeat
};

struct Use {
  size_t site;
  size_t arg;
  Access access;
};

/// How a buffer becomes a tensor of versions, each written once in a launch.
struct Versions {
  NodeId repeat;         // that writes a version in each iteration; absent: there is one version
  bool initial = false;  // version 0 is written before the repeat
  size_t writer = 0;     // the site in the repeat
};

void Collect(const Module& module, const std::vector<NodeId>& nodes, Site around,
             std::vector<Site>& sites) {
  for (NodeId id : nodes) {
    if (std::holds_alternative<Share>(module.nodes[id])) {
      around.share = id;
      sites.push_back(around);
    } else if (const auto* repeat = std::get_if<Repeat>(&module.nodes[id])) {
      Collect(module, repeat->body, {{}, id, bool(around.repeat)}, sites);
    }
  }
}

class Tagger {
 public:
  Tagger(Module& module, Kernel& kernel, const ScheduleOptions& options)
      : module_(module), kernel_(kernel), options_(options) {
    for (const Where& where : kernel.where) {
      auto lo = EvaluateInt(module, where.lo, {});
      auto hi = EvaluateInt(module, where.hi, {});
      if (lo && hi) {
        ranges_[where.dim] = {*lo, *hi};
      }
    }
    Collect(module, kernel.body, {}, sites_);
    for (size_t i = 0; i < sites_.size(); ++i) {
      const Share& share = ShareAt(i);
      const Device& callee = module.devices[share.callee];
      for (size_t a = 0; a < share.args.size(); ++a) {
        uses_[share.args[a].tensor].push_back({i, a, module.tensors[callee.params[a]].access});
      }
    }
  }

  void Run() {
    for (NodeId id : kernel_.declarations) {
      if (const auto* declaration = std::get_if<BufferDecl>(&module_.nodes[id])) {
        Consider(declaration->tensor);
      }
    }
    while (Shrink()) {
    }
    for (const auto& [buffer, versions] : chosen_) {
      Privatise(buffer, versions);
    }
    Drop();
  }

 private:
  const Share& ShareAt(size_t site) const {
    return std::get<Share>(module_.nodes[sites_[site].share]);
  }
  TensorId ParamOf(const Use& use) const {
    return module_.devices[ShareAt(use.site).callee].params[use.arg];
  }

  /// Whether the CUDA implementation can take the operand as a tagged buffer.
  bool Taggable(const Use& use) const {
    const Share& share = ShareAt(use.site);
    const Device& callee = module_.devices[share.callee];
    auto takes = [&](const Impl& impl) {
      return std::find(impl.tags.begin(), impl.tags.end(), callee.params[use.arg]) !=
             impl.tags.end();
    };
    return !sites_[use.site].nested && share.args[use.arg].indices.empty() &&
           use.access != Access::InOut &&
           std::any_of(callee.impls.begin(), callee.impls.end(), takes);
  }

  /// Tags double what every SM reads of the activations, and the registers that they take, which
  /// pays for few and short rows only.
  bool IsSmall(const Tensor& tensor) const {
    auto at_most = [&](ExprId extent, int64_t most) {
      auto bounds = Bounds(module_, extent, {}, ranges_);
      return bounds && bounds->hi <= most;
    };
    return !tensor.shape.empty() && at_most(tensor.shape.front(), options_.tagged_rows) &&
           at_most(tensor.shape.back(), options_.tagged_columns);
  }

  void Consider(TensorId buffer) {
    const Tensor tensor = module_.tensors[buffer];
    bool words =
        tensor.type == DType::F32 || (tensor.type == DType::BF16 && !tensor.shape.empty() &&
                                      IsMultiple(module_, tensor.shape.back(), 2));
    const std::vector<Use>& uses = uses_[buffer];
    if (tensor.offset || tensor.tagged || !tensor.tile.empty() || !words || uses.empty() ||
        !std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return Taggable(use); }) ||
        !IsSmall(tensor)) {
      return;
    }
    if (auto versions = FindVersions(uses)) {
      chosen_[buffer] = *versions;
    }
  }

  /// At most one share before the repeat and one in it write the buffer, and none reads it earlier.
  std::optional<Versions> FindVersions(const std::vector<Use>& uses) const {
    Versions versions;
    bool written = false;
    size_t last = sites_.size();
    NodeId used_in;
    for (const Use& use : uses) {
      const Site& site = sites_[use.site];
      if (use.site == last) {
        return std::nullopt;  // one share has it twice
      }
      last = use.site;
      if (site.repeat && used_in && site.repeat != used_in) {
        return std::nullopt;
      }
      used_in = site.repeat ? site.repeat : used_in;
      if (use.access == Access::In) {
        if (!written) {
          return std::nullopt;
        }
      } else if (!site.repeat) {
        if (written) {
          return std::nullopt;
        }
        versions.initial = true;
      } else {
        if (versions.repeat || !HasIterations(site.repeat)) {
          return std::nullopt;
        }
        versions.repeat = site.repeat;
        versions.writer = use.site;
      }
      written |= use.access != Access::In;
    }
    return versions;
  }

  bool HasIterations(NodeId id) const {
    const Repeat& repeat = std::get<Repeat>(module_.nodes[id]);
    auto lo = EvaluateInt(module_, repeat.lo, {});
    auto hi = EvaluateInt(module_, repeat.hi, {});
    return lo && hi && *lo < *hi;
  }

  /// Takes out what does not pay or cannot be: false when all that is left is well.
  bool Shrink() {
    for (const auto& [buffer, versions] : chosen_) {
      for (const Use& use : uses_[buffer]) {
        if (!AllSharesAgree(ShareAt(use.site).callee, use.arg)) {
          chosen_.erase(buffer);
          return true;
        }
      }
    }
    FindDropped();
    for (const auto& [buffer, versions] : chosen_) {
      for (const Use& use : uses_[buffer]) {
        const Share& share = ShareAt(use.site);
        for (const auto* refs : {&share.notifies, &share.leave_notifies}) {
          for (const EventRef& ref : *refs) {
            if (use.access != Access::In && !dropped_.contains(ref.event)) {
              chosen_.erase(buffer);
              return true;
            }
          }
        }
      }
    }
    return false;
  }

  /// The type of a kernel's operand is one for all shares of its device function.
  bool AllSharesAgree(DeviceId callee, size_t arg) const {
    for (size_t i = 0; i < sites_.size(); ++i) {
      const Share& share = ShareAt(i);
      if (share.callee == callee && !chosen_.contains(share.args[arg].tensor)) {
        return false;
      }
    }
    return true;
  }

  /// The events without which everything but the chosen buffers is as much in order as before.
  void FindDropped() {
    dropped_.clear();
    for (const auto& [buffer, versions] : chosen_) {
      module_.tensors[buffer].tagged = true;
    }
    size_t reports = Reports(dropped_);
    for (NodeId id : kernel_.declarations) {
      const auto* declaration = std::get_if<EventDecl>(&module_.nodes[id]);
      if (declaration != nullptr && Announces(declaration->event)) {
        std::set<EventId> without = dropped_;
        without.insert(declaration->event);
        if (Reports(without) == reports) {
          dropped_ = std::move(without);
        }
      }
    }
    for (const auto& [buffer, versions] : chosen_) {
      module_.tensors[buffer].tagged = false;
    }
  }

  size_t Reports(const std::set<EventId>& without) const {
    Diagnostics found;
    CheckDependences(module_, kernel_, without, found);
    return found.all().size();
  }

  /// Whether each share that notifies the event writes a chosen buffer.
  bool Announces(EventId event) const {
    bool any = false;
    for (size_t i = 0; i < sites_.size(); ++i) {
      const Share& share = ShareAt(i);
      auto is_event = [&](const EventRef& ref) { return ref.event == event; };
      if (std::none_of(share.notifies.begin(), share.notifies.end(), is_event) &&
          std::none_of(share.leave_notifies.begin(), share.leave_notifies.end(), is_event)) {
        continue;
      }
      const Device& callee = module_.devices[share.callee];
      bool writes = false;
      for (size_t a = 0; a < share.args.size(); ++a) {
        writes |= chosen_.contains(share.args[a].tensor) &&
                  module_.tensors[callee.params[a]].access != Access::In;
      }
      if (!writes) {
        return false;
      }
      any = true;
    }
    return any;
  }

  void Privatise(TensorId buffer, const Versions& versions) {
    module_.tensors[buffer].tagged = true;
    if (!versions.repeat) {
      return;
    }
    const Repeat repeat = std::get<Repeat>(module_.nodes[versions.repeat]);
    int64_t first = EvaluateInt(module_, repeat.lo, {}).value();
    int64_t iterations = EvaluateInt(module_, repeat.hi, {}).value() - first;
    int64_t initial = versions.initial ? 1 : 0;
    ExprId extent = first == 0 ? MakeAdd(module_, repeat.hi, MakeInt(module_, initial))
                               : MakeInt(module_, iterations + initial);
    module_.tensors[buffer].shape.insert(module_.tensors[buffer].shape.begin(), extent);
    for (const Use& use : uses_[buffer]) {
      const Site& site = sites_[use.site];
      ExprId index;
      if (site.repeat) {
        bool new_version = use.site >= versions.writer;
        index = MakeAdd(module_, MakeRef(module_, repeat.var),
                        MakeInt(module_, (new_version ? initial : 0) - first));
      } else if (use.site < versions.writer) {
        index = MakeInt(module_, 0);
      } else {
        index = first == 0 && initial == 1 ? repeat.hi : MakeInt(module_, iterations + initial - 1);
      }
      std::get<Share>(module_.nodes[site.share]).args[use.arg].indices = {index};
    }
  }

  void Drop() {
    auto is_dropped = [&](const EventRef& ref) { return dropped_.contains(ref.event); };
    for (const Site& site : sites_) {
      Share& share = std::get<Share>(module_.nodes[site.share]);
      for (auto* refs :
           {&share.enter_waits, &share.waits, &share.notifies, &share.leave_notifies}) {
        std::erase_if(*refs, is_dropped);
      }
    }
    std::erase_if(kernel_.declarations, [&](NodeId id) {
      const auto* declaration = std::get_if<EventDecl>(&module_.nodes[id]);
      return declaration != nullptr && dropped_.contains(declaration->event);
    });
  }

  Module& module_;
  Kernel& kernel_;
  const ScheduleOptions& options_;
  DimRanges ranges_;
  std::vector<Site> sites_;
  std::map<TensorId, std::vector<Use>> uses_;
  std::map<TensorId, Versions> chosen_;
  std::set<EventId> dropped_;
};

}  // namespace

bool TagData(Module& module, const ScheduleOptions& options, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    Tagger(module, module.kernels[id], options).Run();
  }
  return true;
}

}  // namespace etc
