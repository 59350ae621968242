// Buffers whose words are their own flags, in the place of the events that announce them. Other
// buffers that iterations reuse get versions where that lets such events go.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/control_tensors.h"
#include "analysis/order/order.h"
#include "analysis/ranks.h"
#include "analysis/shapes.h"
#include "ir/evaluate.h"
#include "ir/flagged.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/lower.h"
#include "schedule/versions.h"
#include "simulator/body_cost.h"

namespace etc {
namespace {

struct Plan {
  VersionsOf flagged;
  VersionsOf versions;        // of buffers that are not flagged
  std::set<EventId> dropped;  // events without which everything is as much in order as before
};

bool SameBuffers(const VersionsOf& a, const VersionsOf& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](auto& x, auto& y) { return x.first == y.first; });
}

class Flagger {
 public:
  Flagger(Module& module, KernelId kernel, const ScheduleOptions& options)
      : module_(module),
        id_(kernel),
        kernel_(module.kernels[kernel]),
        options_(options),
        ranges_(RangesOf(module, kernel_)),
        ranks_(MostRanks(module, kernel_)),
        sites_(SharesOf(module, kernel_)),
        buffer_versions_(module, sites_),
        control_(ControlTensors(module, MakeCallProgram(module, kernel_))) {
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
    Plan best = Settle(versions_);
    // Only those versions that let a buffer be flagged or an event go.
    for (const auto& [buffer, versions] : versions_) {
      if (best.versions.contains(buffer)) {
        VersionsOf fewer = best.versions;
        fewer.erase(buffer);
        Plan plan = Settle(fewer);
        if (plan.dropped == best.dropped && SameBuffers(plan.flagged, best.flagged)) {
          best = std::move(plan);
        }
      }
    }
    // All flagged words of a kernel are in one memory.
    bool symmetric = std::any_of(best.flagged.begin(), best.flagged.end(), [&](const auto& each) {
      return module_.tensors[each.first].symmetric;
    });
    for (const auto& [buffer, versions] : best.flagged) {
      module_.tensors[buffer].flagged = true;
      module_.tensors[buffer].symmetric = symmetric;
      buffer_versions_.Privatise(buffer, versions, uses_[buffer]);
    }
    for (const auto& [buffer, versions] : best.versions) {
      buffer_versions_.Privatise(buffer, versions, uses_[buffer]);
    }
    Drop(best.dropped);
  }

  /// The reason why a tensor of a scheduled kernel is not flagged.
  std::string ReasonAgainst(TensorId id) {
    const Tensor& tensor = module_.tensors[id];
    if (tensor.kind != TensorKind::Buffer) {
      return "it is a parameter of the kernel";
    }
    if (control_.contains(id)) {
      return "task ranges or events are read from it";
    }
    if (IsInQueue(id)) {
      return "tasks of a queue wait for events only";
    }
    for (const BufferUse& use : uses_[id]) {
      const std::string& callee = module_.devices[ShareAt(use.site).callee].name;
      size_t axis = ShareAt(use.site).args[use.arg].indices.size();
      if (IsChecked(use)) {
        return fmt::format("debug checks look at what `@{}` is promised of it", callee);
      }
      if (!Flaggable(use)) {
        return fmt::format("no implementation of `@{}` takes it flagged", callee);
      }
      if (tensor.type == DType::I32 && !IsNotNegative(uses_[id])) {
        return fmt::format("`@{}` takes elements below 0", callee);
      }
      if (axis + 1 < tensor.shape.size() && !IsAtMost(tensor.shape[axis], MostRows(uses_[id]))) {
        return fmt::format("it may have more than {} rows", MostRows(uses_[id]));
      }
      if (double reads = ReadBy(use); reads > static_cast<double>(options_.flagged_elements)) {
        return fmt::format("a task of `@{}` reads up to {:.0f} elements of it, more than {}",
                           callee, reads, options_.flagged_elements);
      }
    }
    return EventStays(id);
  }

 private:
  /// What else is announced by an event of what writes the tensor.
  std::string EventStays(TensorId id) const {
    std::set<std::string> writers;
    std::set<std::string> others;
    for (const BufferUse& use : uses_.at(id)) {
      if (use.access == Access::In) {
        continue;
      }
      const Share& share = ShareAt(use.site);
      const Device& callee = module_.devices[share.callee];
      writers.insert("`@" + callee.name + "`");
      for (size_t i = 0; i < share.args.size(); ++i) {
        const Tensor& other = module_.tensors[share.args[i].tensor];
        if (module_.tensors[callee.params[i]].access != Access::In && share.args[i].tensor != id &&
            !other.flagged) {
          others.insert("`%" + other.name + "`");
        }
      }
    }
    return fmt::format(
        "an event of {} has to stay for {}", fmt::join(writers, ", "),
        others.empty() ? "what else it puts in order" : fmt::format("{}", fmt::join(others, ", ")));
  }

  const Share& ShareAt(size_t site) const {
    return std::get<Share>(module_.nodes[sites_[site].share]);
  }
  TensorId ParamOf(const BufferUse& use) const {
    return module_.devices[ShareAt(use.site).callee].params[use.arg];
  }

  bool IsInQueue(TensorId buffer) const {
    const std::vector<BufferUse>& uses = uses_.at(buffer);
    return std::any_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
      NodeId dispatch = sites_[use.site].dispatch;
      return dispatch && std::get<Dispatch>(module_.nodes[dispatch]).capacity;
    });
  }

  /// Whether the share has the whole buffer, of which there is one for each iteration.
  bool IsWhole(const BufferUse& use) const {
    return sites_[use.site].repeats.size() <= 1 &&
           ShareAt(use.site).args[use.arg].indices.empty() && use.access != Access::InOut;
  }

  /// Whether the CUDA implementation can take the operand as a flagged buffer. Debug checks look at
  /// a promised one as a whole, behind an event.
  bool Flaggable(const BufferUse& use) const {
    const Device& callee = module_.devices[ShareAt(use.site).callee];
    return !IsChecked(use) && TakesFlagged(module_, callee, ParamOf(use), ranges_);
  }

  bool IsChecked(const BufferUse& use) const {
    return options_.debug_checks && use.access != Access::Out &&
           HasPrecondition(module_.tensors[ParamOf(use)]);
  }

  bool IsAtMost(ExprId extent, int64_t most) const {
    auto bounds = Bounds(module_, extent, {}, ranges_);
    return bounds && bounds->hi <= most;
  }

  int64_t MostRows(const std::vector<BufferUse>& uses) const {
    return MostFlaggedRows(ranks_, std::any_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
                             return bool(sites_[use.site].dispatch);
                           }));
  }

  /// Flags in data double what a task reads of the activations, and the registers that they take,
  /// which pays where that is little.
  bool IsSmall(const Tensor& tensor, const std::vector<BufferUse>& uses) {
    return (tensor.shape.size() == 1 || IsAtMost(tensor.shape.front(), MostRows(uses))) &&
           std::all_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
             return ReadBy(use) <= static_cast<double>(options_.flagged_elements);
           });
  }

  /// Whether all that read an integer tensor ask for values from 0 on: -1 has all bits set, which
  /// no flagged word says.
  bool IsNotNegative(const std::vector<BufferUse>& uses) const {
    return std::all_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
      const Tensor& param = module_.tensors[ParamOf(use)];
      auto lo = param.value_lo ? EvaluateInt(module_, param.value_lo, {}) : std::nullopt;
      return use.access == Access::Out || (lo && *lo >= 0);
    });
  }

  /// Elements that a task reads at the largest sizes.
  double ReadBy(const BufferUse& use) {
    return ReadsOf(ShareAt(use.site).callee)[ParamOf(use)].one_task;
  }

  /// The number of elements that a task reads at the largest sizes.
  std::map<TensorId, ElementCount>& ReadsOf(DeviceId callee) {
    if (!reads_.contains(callee)) {
      LaunchSizes sizes{{}, ranges_};
      for (SymbolId symbol : module_.symbols.Ids()) {
        if (module_.symbols[symbol].kind == SymbolKind::Dim) {
          if (auto range = RangeOfDim(module_, symbol, ranges_)) {
            sizes.dims[symbol] = range->hi;
          }
        }
      }
      reads_[callee] = CostOfBody(module_, module_.devices[callee], sizes).reads;
    }
    return reads_[callee];
  }

  /// Whether the slices of a tensor of versions start where an operand may.
  bool IsAligned(const Tensor& tensor) const {
    constexpr int64_t kAlignment = 16;
    return IsMultiple(module_, tensor.shape.back(), kAlignment / BytesPerElement(tensor));
  }

  void Consider(TensorId buffer) {
    const Tensor tensor = module_.tensors[buffer];
    const std::vector<BufferUse>& uses = uses_[buffer];
    auto is_whole = [&](const BufferUse& use) { return IsWhole(use); };
    if (tensor.offset || tensor.flagged || tensor.shape.empty() || uses.empty() ||
        control_.contains(buffer) || !std::all_of(uses.begin(), uses.end(), is_whole)) {
      return;
    }
    std::optional<Versions> versions = buffer_versions_.Find(uses);
    if (!versions) {
      return;
    }
    bool words = tensor.type == DType::F32 || (tensor.type == DType::I32 && IsNotNegative(uses)) ||
                 (tensor.type == DType::BF16 && IsMultiple(module_, tensor.shape.back(), 2));
    auto flaggable = [&](const BufferUse& use) { return Flaggable(use); };
    if (words && tensor.tile.empty() && IsSmall(tensor, uses) && !IsInQueue(buffer) &&
        std::all_of(uses.begin(), uses.end(), flaggable)) {
      flaggable_[buffer] = *versions;
    }
    if (versions->repeat && IsAligned(tensor) && HasRoom(tensor, *versions)) {
      versions_[buffer] = *versions;
    }
  }

  /// Whether the versions of a buffer that is not flagged take as little memory as they may.
  bool HasRoom(const Tensor& tensor, const Versions& versions) {
    ExprId bytes = MakeMul(module_, buffer_versions_.NumberOf(versions),
                           MakeInt(module_, BytesPerElement(tensor)));
    for (ExprId extent : tensor.shape) {
      bytes = MakeMul(module_, bytes, extent);
    }
    return IsAtMost(bytes, options_.version_bytes);
  }

  /// The buffers that can be flagged if those of `versions` that are not flagged have versions.
  Plan Settle(const VersionsOf& versions) {
    Plan plan;
    plan.flagged = flaggable_;
    do {
      plan.versions = versions;
      for (const auto& [buffer, of] : plan.flagged) {
        plan.versions.erase(buffer);
      }
      FindDropped(plan);
    } while (Shrink(plan));
    return plan;
  }

  /// Takes out what does not pay or cannot be: false when all that is left is well.
  bool Shrink(Plan& plan) const {
    for (const auto& [buffer, versions] : plan.flagged) {
      for (const BufferUse& use : uses_.at(buffer)) {
        if (!AllSharesAgree(plan, ShareAt(use.site).callee, use.arg) ||
            (use.access != Access::In && NotifiesOther(plan, ShareAt(use.site)))) {
          plan.flagged.erase(buffer);
          return true;
        }
      }
    }
    return false;
  }

  /// The type of a kernel's operand is one for all shares of its device function.
  bool AllSharesAgree(const Plan& plan, DeviceId callee, size_t arg) const {
    for (size_t i = 0; i < sites_.size(); ++i) {
      const Share& share = ShareAt(i);
      if (share.callee == callee && !plan.flagged.contains(share.args[arg].tensor)) {
        return false;
      }
    }
    return true;
  }

  static bool NotifiesOther(const Plan& plan, const Share& share) {
    auto stays = [&](const EventRef& ref) { return !plan.dropped.contains(ref.event); };
    return std::any_of(share.notifies.begin(), share.notifies.end(), stays) ||
           std::any_of(share.leave_notifies.begin(), share.leave_notifies.end(), stays);
  }

  void FindDropped(Plan& plan) {
    for (const auto& [buffer, versions] : plan.flagged) {
      module_.tensors[buffer].flagged = true;
    }
    for (const auto& [buffer, versions] : plan.versions) {
      buffer_versions_.Privatise(buffer, versions, uses_[buffer]);
    }
    if (ranks_ > 1) {
      // A notify to a peer puts things in order there, which one rank's program does not show.
      Module joined = JoinRanks(AtRanks(module_, ranks_), ranks_, JoinedFor::WholeCalls);
      plan.dropped = Redundant(joined, joined.kernels[id_], plan);
    } else {
      plan.dropped = Redundant(module_, kernel_, plan);
    }
    for (const auto& [buffer, versions] : plan.flagged) {
      module_.tensors[buffer].flagged = false;
    }
    for (const auto& [buffer, versions] : plan.versions) {
      buffer_versions_.Rejoin(buffer, uses_[buffer]);
    }
  }

  /// The events that announce flagged buffers and put nothing else in order.
  std::set<EventId> Redundant(const Module& module, const Kernel& kernel, const Plan& plan) const {
    CallProgram program = MakeCallProgram(module, kernel);
    std::vector<EventId> announcing = program.events;
    std::erase_if(announcing, [&](EventId event) { return !Announces(plan, event); });
    return Order(module, program).Redundant(announcing);
  }

  /// Whether each share that notifies the event writes a flagged buffer.
  bool Announces(const Plan& plan, EventId event) const {
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
        writes |= plan.flagged.contains(share.args[a].tensor) &&
                  module_.tensors[callee.params[a]].access != Access::In;
      }
      if (!writes) {
        return false;
      }
      any = true;
    }
    return any;
  }

  void Drop(const std::set<EventId>& dropped) {
    auto is_dropped = [&](const EventRef& ref) { return dropped.contains(ref.event); };
    for (const ShareSite& site : sites_) {
      Share& share = std::get<Share>(module_.nodes[site.share]);
      for (auto* refs : {&share.range_waits, &share.enter_waits, &share.waits, &share.after_waits,
                         &share.notifies, &share.leave_notifies}) {
        std::erase_if(*refs, is_dropped);
      }
    }
    std::erase_if(kernel_.declarations, [&](NodeId id) {
      const auto* declaration = std::get_if<EventDecl>(&module_.nodes[id]);
      return declaration != nullptr && dropped.contains(declaration->event);
    });
  }

  Module& module_;
  const KernelId id_;
  Kernel& kernel_;
  const ScheduleOptions& options_;
  DimRanges ranges_;
  const int64_t ranks_;
  std::vector<ShareSite> sites_;
  BufferVersions buffer_versions_;
  std::set<TensorId> control_;  // the kernel reads them as they are
  std::map<TensorId, std::vector<BufferUse>> uses_;
  std::map<DeviceId, std::map<TensorId, ElementCount>> reads_;
  VersionsOf flaggable_;
  VersionsOf versions_;  // what a buffer would have if it is not flagged
};

}  // namespace

std::string WhyNotFlagged(Module& module, KernelId kernel, TensorId tensor,
                          const ScheduleOptions& options) {
  return Flagger(module, kernel, options).ReasonAgainst(tensor);
}

bool FlagInData(Module& module, const ScheduleOptions& options, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    if (module.kernels[id].schedule != ScheduleKind::Kernels) {
      Flagger(module, id, options).Run();
    }
  }
  return true;
}

}  // namespace etc
