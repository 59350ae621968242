#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "analysis/order/order.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/lower.h"

namespace etc {
namespace {

/// Collects what the tasks of one kernel rely on: of what is known before it begins, and of what it
/// computes.
class Checks {
 public:
  Checks(Module& module, Kernel& kernel)
      : module_(module),
        kernel_(kernel),
        program_(MakeCallProgram(module, kernel)),
        order_(module, program_) {}

  void Add() {
    for (TensorId id : kernel_.params) {
      AddAtStart(id, id, 0, {});
    }
    for (const ShareSite& site : SharesOf(module_, kernel_)) {
      AddAsked(site.share, Share(std::get<Share>(module_.nodes[site.share])));
    }
    kernel_.check_accesses = SourceRange{};
  }

 private:
  using IsKnown = std::function<bool(TensorId)>;

  /// Adds the preconditions of device functions for tensors that have none of their own.
  void AddAsked(NodeId id, const Share& share) {
    const std::vector<TensorId> params = module_.devices[share.callee].params;
    TensorSubstitution args;
    for (size_t i = 0; i < params.size(); ++i) {
      args[params[i]] = share.args[i];
    }
    for (size_t i = 0; i < params.size(); ++i) {
      if (!HasPrecondition(module_.tensors[share.args[i].tensor])) {
        AddAtStart(share.args[i].tensor, params[i], share.args[i].indices.size(), args);
        AddAtUse(id, share, params[i], args);
      }
    }
  }

  /// That each slice of a parameter at `leading` indices is what `precondition` says of it, as far
  /// as it says that of tensors which are known before the first task.
  void AddAtStart(TensorId tensor, TensorId precondition, size_t leading,
                  const TensorSubstitution& args) {
    const Tensor& checked = module_.tensors[tensor];
    bool is_known = checked.kind == TensorKind::Param && checked.access != Access::Out;
    if (!is_known || module_.tensors[precondition].access == Access::Out ||
        !done_.insert({tensor, precondition, leading}).second) {
      return;
    }
    Check check =
        CheckOf(tensor, precondition, leading, args, [&](TensorId id) { return IsInput(id); });
    if (IsAny(check)) {
      kernel_.checks.push_back(std::move(check));
    }
  }

  /// What a share asks of tensors of which some are computed, where all of them are complete:
  /// before it reads the ranges of its tasks from them, or its first task begins.
  void AddAtUse(NodeId id, const Share& share, TensorId precondition,
                const TensorSubstitution& args) {
    const Argument& argument = args.at(precondition);
    if (!argument.indices.empty() || module_.tensors[precondition].access == Access::Out) {
      return;
    }
    for (bool ranges : {true, false}) {
      size_t waits = share.range_waits.size() + (ranges ? 0 : share.enter_waits.size());
      bool computed = !IsInput(argument.tensor);
      IsKnown is_complete = [&](TensorId tensor) {
        computed = computed || !IsInput(tensor);
        return IsInput(tensor) || order_.IsComplete(CallOf(id), waits, tensor);
      };
      if ((ranges && !ReadsTensor(module_, share.axes)) || !is_complete(argument.tensor)) {
        continue;
      }
      Check check = CheckOf(argument.tensor, precondition, 0, args, is_complete);
      if (computed && IsAny(check)) {
        auto& mine = std::get<Share>(module_.nodes[id]);
        (ranges ? mine.range_checks : mine.enter_checks).push_back(std::move(check));
        return;
      }
    }
  }

  const ProgramCall& CallOf(NodeId share) const {
    return *std::find_if(program_.calls.begin(), program_.calls.end(),
                         [&](const ProgramCall& call) { return call.node == share; });
  }

  /// What `precondition` says of `tensor`, by tensors that are known.
  Check CheckOf(TensorId tensor, TensorId precondition, size_t leading,
                const TensorSubstitution& args, const IsKnown& is_known) {
    const Tensor promised = module_.tensors[precondition];
    Check check;
    check.tensor = tensor;
    check.leading = leading;
    check.distinct = promised.distinct;
    check.monotone = promised.monotone;
    if (ReadsKnown(promised.value_lo, args, is_known) &&
        ReadsKnown(promised.value_hi, args, is_known)) {
      Substitution names = AddIndices(promised, check);
      check.value_lo = Clone(module_, promised.value_lo, names, args);
      check.value_hi = Clone(module_, promised.value_hi, names, args);
    }
    TensorId counted = promised.counts && leading == 0 ? Whole(promised.counts, args) : TensorId{};
    check.counts = counted && is_known(counted) ? counted : TensorId{};
    return check;
  }

  static bool IsAny(const Check& check) {
    return check.value_lo || check.distinct || check.monotone || check.counts;
  }

  /// Names for all indices of a range that depends on the element.
  Substitution AddIndices(const Tensor& promised, Check& check) {
    if (IsUniform(module_, promised) || promised.indices.empty()) {
      return {};
    }
    check.indices = promised.indices;
    Substitution names = CopyIndices(module_, check.indices);
    for (size_t axis = 0; axis < check.indices.size(); ++axis) {
      if (!check.indices[axis]) {
        Symbol symbol{fmt::format("i{}", axis), SymbolKind::Index, {}, {}, {}, {}, {}};
        check.indices[axis] = module_.symbols.Add(std::move(symbol));
      }
    }
    return names;
  }

  bool ReadsKnown(ExprId bound, const TensorSubstitution& args, const IsKnown& is_known) const {
    bool known = true;
    VisitExprs(module_, bound, [&](ExprId id) {
      if (const auto* load = std::get_if<Load>(&module_.exprs[id])) {
        TensorId tensor = Whole(load->tensor, args);
        known = known && tensor && is_known(tensor);
      }
    });
    return known;
  }

  /// What a tensor of a precondition is in the kernel; nothing where it is a slice.
  static TensorId Whole(TensorId tensor, const TensorSubstitution& args) {
    auto argument = args.find(tensor);
    if (argument == args.end()) {
      return tensor;
    }
    return argument->second.indices.empty() ? argument->second.tensor : TensorId{};
  }

  bool IsInput(TensorId tensor) const {
    const Tensor& known = module_.tensors[tensor];
    return known.kind == TensorKind::Param && known.access == Access::In;
  }

  Module& module_;
  Kernel& kernel_;
  CallProgram program_;
  Order order_;
  std::set<std::tuple<TensorId, TensorId, size_t>> done_;
};

}  // namespace

bool AddChecks(Module& module, const ScheduleOptions&, Diagnostics&) {
  for (KernelId id : module.kernels.Ids()) {
    Kernel& kernel = module.kernels[id];
    if (!HasChecks(kernel)) {
      Checks(module, kernel).Add();
    }
  }
  return true;
}

}  // namespace etc
