#include "compile/arrays.h"

#include <fmt/format.h>

namespace etc {
namespace {

/// The parameters that launches bind.
std::vector<TensorId> ParamsOfLaunches(const Module& module) {
  std::vector<TensorId> params;
  auto add = [&](const std::vector<TensorId>& more) {
    params.insert(params.end(), more.begin(), more.end());
  };
  for (const Graph& graph : module.graphs) {
    if (graph.generics.empty()) {
      add(graph.params);
    }
  }
  for (const Kernel& kernel : module.kernels) {
    add(kernel.params);
  }
  return params;
}

}  // namespace

bool MakeArrays(Module& module, const std::vector<std::string>& names, Diagnostics& diagnostics) {
  const std::vector<TensorId> params = ParamsOfLaunches(module);
  bool ok = true;
  for (const std::string& name : names) {
    bool found = false;
    for (TensorId id : params) {
      Tensor& param = module.tensors[id];
      if (param.name != name) {
        continue;
      }
      found = true;
      param.array = !param.shape.empty();
      if (param.shape.empty()) {
        diagnostics.Error(
            DiagnosticKind::Array, param.range,
            fmt::format("`%{}` has one element, so it cannot be an array of tensors", name));
        ok = false;
      }
    }
    if (!found) {
      diagnostics.Error(DiagnosticKind::Array, {},
                        fmt::format("no graph has a parameter `%{0}` for `--array {0}`", name));
      ok = false;
    }
  }
  return ok;
}

}  // namespace etc
