#include <set>
#include <tuple>

#include "ir/rewrite.h"
#include "schedule/lower.h"

namespace etc {
namespace {

bool IsPromised(const Tensor& tensor) {
  return tensor.value_lo || tensor.distinct || tensor.monotone;
}

/// Collects what the tasks of one kernel may rely on before it begins.
class Checks {
 public:
  Checks(Module& module, Kernel& kernel) : module_(module), kernel_(kernel) {}

  void Add() {
    for (TensorId id : kernel_.params) {
      AddCheck(id, id, 0);
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
        for (size_t i = 0; i < share->args.size(); ++i) {
          const Argument& argument = share->args[i];
          if (!IsPromised(module_.tensors[argument.tensor])) {
            AddCheck(argument.tensor, device.params[i], argument.indices.size());
          }
        }
      }
    }
  }

  /// That each slice of `tensor` at `leading` indices is what `promise` says of it.
  void AddCheck(TensorId tensor, TensorId promise, size_t leading) {
    const Tensor& checked = module_.tensors[tensor];
    const Tensor promised = module_.tensors[promise];
    bool is_known = checked.kind == TensorKind::Param && checked.access != Access::Out;
    if (!is_known || !IsPromised(promised) || promised.access == Access::Out ||
        !done_.insert({tensor, promise, leading}).second) {
      return;
    }
    kernel_.checks.push_back({tensor, leading, Clone(module_, promised.value_lo, {}),
                              Clone(module_, promised.value_hi, {}), promised.distinct,
                              promised.monotone});
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
