#include <fmt/format.h>

#include <set>
#include <tuple>

#include "ir/rewrite.h"
#include "schedule/lower.h"
#include "verify/walk.h"

namespace etc {
namespace {

bool IsPromised(const Tensor& tensor) {
  return tensor.value_lo || tensor.distinct || tensor.monotone || tensor.counts;
}

/// Collects what the tasks of one kernel may rely on before it begins.
class Checks {
 public:
  Checks(Module& module, Kernel& kernel) : module_(module), kernel_(kernel) {}

  void Add() {
    for (TensorId id : kernel_.params) {
      AddCheck(id, id, 0, {});
    }
    AddAsked(kernel_.body);
    kernel_.check_accesses = SourceRange{};
  }

 private:
  /// What device functions ask of parameters that promise nothing themselves.
  void AddAsked(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      if (const auto* repeat = std::get_if<Repeat>(&module_.nodes[id])) {
        AddAsked(repeat->body);
      } else if (const auto* share = std::get_if<Share>(&module_.nodes[id])) {
        const Device& device = module_.devices[share->callee];
        const std::vector<Argument> args = share->args;
        TensorSubstitution tensors;
        for (size_t i = 0; i < args.size(); ++i) {
          tensors[device.params[i]] = args[i];
        }
        for (size_t i = 0; i < args.size(); ++i) {
          if (!IsPromised(module_.tensors[args[i].tensor])) {
            AddCheck(args[i].tensor, device.params[i], args[i].indices.size(), tensors);
          }
        }
      }
    }
  }

  /// That each slice of `tensor` at `leading` indices is what `promise` says of it, as far as it
  /// says that of tensors which are known before the first task.
  void AddCheck(TensorId tensor, TensorId promise, size_t leading,
                const TensorSubstitution& tensors) {
    const Tensor& checked = module_.tensors[tensor];
    const Tensor promised = module_.tensors[promise];
    bool is_known = checked.kind == TensorKind::Param && checked.access != Access::Out;
    if (!is_known || !IsPromised(promised) || promised.access == Access::Out ||
        !done_.insert({tensor, promise, leading}).second) {
      return;
    }
    Check check;
    check.tensor = tensor;
    check.leading = leading;
    check.distinct = promised.distinct;
    check.monotone = promised.monotone;
    if (ReadsInputs(promised.value_lo, tensors) && ReadsInputs(promised.value_hi, tensors)) {
      Substitution names = AddIndices(promised, check);
      check.value_lo = Clone(module_, promised.value_lo, names, tensors);
      check.value_hi = Clone(module_, promised.value_hi, names, tensors);
    }
    if (promised.counts && leading == 0 && IsInput(promised.counts, tensors)) {
      auto argument = tensors.find(promised.counts);
      check.counts = argument == tensors.end() ? promised.counts : argument->second.tensor;
    }
    if (check.value_lo || check.distinct || check.monotone || check.counts) {
      kernel_.checks.push_back(std::move(check));
    }
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

  bool ReadsInputs(ExprId bound, const TensorSubstitution& tensors) const {
    bool inputs = true;
    VisitExprs(module_, bound, [&](ExprId id) {
      const auto* load = std::get_if<Load>(&module_.exprs[id]);
      inputs = inputs && (load == nullptr || IsInput(load->tensor, tensors));
    });
    return inputs;
  }

  /// Whether a tensor of a promise is a whole parameter of the kernel that no task writes.
  bool IsInput(TensorId tensor, const TensorSubstitution& tensors) const {
    auto argument = tensors.find(tensor);
    bool whole = argument == tensors.end() || argument->second.indices.empty();
    const Tensor& known =
        module_.tensors[argument == tensors.end() ? tensor : argument->second.tensor];
    return whole && known.kind == TensorKind::Param && known.access == Access::In;
  }

  Module& module_;
  Kernel& kernel_;
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
