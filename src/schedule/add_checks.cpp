#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "analysis/order/order.h"
#include "analysis/ranks.h"
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
  /// Of a parameter of a device function, or of a tensor of the kernel.
  using IsKnown = std::function<bool(TensorId)>;

  /// Adds the preconditions of device functions for tensors that have none of their own.
  void AddAsked(NodeId id, const Share& share) {
    const std::vector<TensorId> params = module_.devices[share.callee].params;
    TensorSubstitution args;
    for (size_t i = 0; i < params.size(); ++i) {
      args[params[i]] = share.args[i];
    }
    for (size_t i = 0; i < params.size(); ++i) {
      if (HasPrecondition(module_.tensors[params[i]]) &&
          !HasPrecondition(module_.tensors[share.args[i].tensor])) {
        Check at_start =
            AddAtStart(share.args[i].tensor, params[i], share.args[i].indices.size(), args);
        AddAtUse(id, share, params[i], args, at_start);
      }
    }
  }

  /// That each slice of a parameter at `leading` indices is what `precondition` says of it, as far
  /// as it says that of tensors which are known before the first task. Returns what it says.
  Check AddAtStart(TensorId tensor, TensorId precondition, size_t leading,
                   const TensorSubstitution& args) {
    const Tensor& checked = module_.tensors[tensor];
    bool is_known = checked.kind == TensorKind::Param && checked.access != Access::Out;
    if (!is_known || module_.tensors[precondition].access == Access::Out) {
      return {};
    }
    auto [known, is_new] = done_.insert({{tensor, precondition, leading}, {}});
    if (is_new) {
      known->second = CheckOf({tensor, {}}, precondition, leading, args, [&](TensorId id) {
        Argument read = ArgumentOf(id, args);
        return read.indices.empty() && IsInput(read.tensor);
      });
      AddToKernel(known->second);
    }
    return known->second;
  }

  /// In a program of all ranks, the elements of one rank are distinct, not those of all.
  void AddToKernel(Check check) {
    if (check.distinct && IsOfAllRanks(module_)) {
      Check of_each;
      of_each.tensor = check.tensor;
      of_each.leading = check.leading + 1;
      of_each.distinct = true;
      kernel_.checks.push_back(std::move(of_each));
      check.distinct = false;
    }
    if (IsAny(check)) {
      kernel_.checks.push_back(std::move(check));
    }
  }

  /// What a share asks of tensors of which some are computed, where all of them are complete:
  /// before it reads the ranges of its tasks from them, or its first task begins, or each task.
  void AddAtUse(NodeId id, const Share& share, TensorId precondition,
                const TensorSubstitution& args, const Check& at_start) {
    if (module_.tensors[precondition].access == Access::Out) {
      return;
    }
    const Argument& argument = args.at(precondition);
    size_t waits = 0;
    for (const auto& [refs, checks] : {std::pair{&Share::range_waits, &Share::range_checks},
                                       std::pair{&Share::enter_waits, &Share::enter_checks},
                                       std::pair{&Share::waits, &Share::task_checks}}) {
      waits += (share.*refs).size();
      if (checks == &Share::range_checks && !ReadsTensor(module_, share.axes)) {
        continue;
      }
      IsKnown is_complete = [&](TensorId param) { return IsComplete(id, waits, param, args); };
      if (!is_complete(precondition)) {
        continue;
      }
      Check check = CheckOf(argument, precondition, 0, args, is_complete);
      bool adds = IsInput(argument.tensor) ? SaysMore(check, at_start) : IsAny(check);
      if (adds && (checks == &Share::task_checks || !ReadsCoordinates(module_, check, share))) {
        (std::get<Share>(module_.nodes[id]).*checks).push_back(std::move(check));
        return;
      }
    }
  }

  /// Of what a share is given for a parameter.
  bool IsComplete(NodeId share, size_t waits, TensorId param, const TensorSubstitution& args) {
    if (IsInput(ArgumentOf(param, args).tensor)) {
      return true;
    }
    const ProgramCall& call = CallOf(share);
    const std::vector<TensorId>& params = call.device->params;
    auto place = std::find(params.begin(), params.end(), param);
    return place != params.end() &&
           order_.IsComplete(call, waits, static_cast<size_t>(place - params.begin()));
  }

  static Argument ArgumentOf(TensorId param, const TensorSubstitution& args) {
    auto argument = args.find(param);
    return argument == args.end() ? Argument{param, {}} : argument->second;
  }

  const ProgramCall& CallOf(NodeId share) const {
    return *std::find_if(program_.calls.begin(), program_.calls.end(),
                         [&](const ProgramCall& call) { return call.node == share; });
  }

  /// What `precondition` says of a tensor or its slice, by tensors that are known.
  Check CheckOf(const Argument& argument, TensorId precondition, size_t leading,
                const TensorSubstitution& args, const IsKnown& is_known) {
    const Tensor promised = module_.tensors[precondition];
    Check check;
    check.tensor = argument.tensor;
    check.slice = Copied(argument.indices);
    check.leading = leading;
    check.distinct = promised.distinct;
    check.monotone = promised.monotone;
    if (ReadsKnown(promised.value_lo, is_known) && ReadsKnown(promised.value_hi, is_known)) {
      Substitution names = AddIndices(promised, check);
      check.value_lo = Clone(module_, promised.value_lo, names, args);
      check.value_hi = Clone(module_, promised.value_hi, names, args);
    }
    if (promised.counts && leading == 0 && is_known(promised.counts)) {
      Argument counted = ArgumentOf(promised.counts, args);
      check.counts = counted.tensor;
      check.counts_slice = Copied(counted.indices);
    }
    return check;
  }

  std::vector<ExprId> Copied(const std::vector<ExprId>& indices) {
    std::vector<ExprId> copies;
    for (ExprId index : indices) {
      copies.push_back(Clone(module_, index, {}));
    }
    return copies;
  }

  /// Whether a check of an input has what could not be checked before the first task.
  static bool SaysMore(const Check& check, const Check& at_start) {
    return (check.value_lo && !at_start.value_lo) || (check.counts && !at_start.counts);
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

  bool ReadsKnown(ExprId bound, const IsKnown& is_known) const {
    bool known = true;
    VisitExprs(module_, bound, [&](ExprId id) {
      if (const auto* load = std::get_if<Load>(&module_.exprs[id])) {
        known = known && is_known(load->tensor);
      }
    });
    return known;
  }

  bool IsInput(TensorId tensor) const {
    const Tensor& known = module_.tensors[tensor];
    return known.kind == TensorKind::Param && known.access == Access::In;
  }

  Module& module_;
  Kernel& kernel_;
  CallProgram program_;
  Order order_;
  // What launches check of a tensor for a parameter of a device function, at so many leading
  // indices.
  std::map<std::tuple<TensorId, TensorId, size_t>, Check> done_;
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
