#include "bench/bytes_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/evaluate.h"
#include "simulator/kernel_cost.h"
#include "tensor/tensor_data.h"

namespace etc {
namespace {

bool Serves(const Module& module, const Kernel& kernel, const Env& dims) {
  return std::all_of(kernel.where.begin(), kernel.where.end(), [&](const Where& where) {
    auto lo = EvaluateInt(module, where.lo, {});
    auto hi = EvaluateInt(module, where.hi, {});
    auto size = dims.find(where.dim);
    return lo && hi && size != dims.end() && size->second >= *lo && size->second <= *hi;
  });
}

Env DimsOf(const Module& module, const BenchTensors& tensors) {
  Env dims;
  for (SymbolId symbol : module.symbols.Ids()) {
    auto size = tensors.dims.find(module.symbols[symbol].name);
    if (module.symbols[symbol].kind == SymbolKind::Dim && size != tensors.dims.end()) {
      dims[symbol] = size->second;
    }
  }
  return dims;
}

/// Null where there is none.
const Kernel* KernelFor(const Module& module, const std::string& graph, const Env& dims) {
  for (KernelId id : module.kernels.Ids()) {
    if (module.kernels[id].graph == graph && Serves(module, module.kernels[id], dims)) {
      return &module.kernels[id];
    }
  }
  return nullptr;
}

/// "%x: f32[17x1000]"
std::string TextOf(const Module& module, const Tensor& param, const Env& dims) {
  std::vector<int64_t> shape;
  for (ExprId extent : param.shape) {
    shape.push_back(EvaluateInt(module, extent, dims).value_or(-1));
  }
  return fmt::format("%{}: {}", param.name, TypeText(Spelling(param.type), shape));
}

std::string TextOf(const BenchTensor& tensor) {
  return fmt::format("%{}: {}", tensor.name, TypeText(tensor.dtype, tensor.shape));
}

}  // namespace

std::optional<int64_t> BytesRead(const Module& module, const BenchTensors& tensors,
                                 const std::string& graph, const Target& target) {
  Env dims = DimsOf(module, tensors);
  std::map<std::string, int64_t> elements;
  for (const BenchTensor& tensor : tensors.all) {
    if (tensor.mean) {
      elements[tensor.name] = *tensor.mean;
    }
  }
  const Kernel* kernel = KernelFor(module, graph, dims);
  return kernel != nullptr
             ? std::optional(std::llround(CostOf(module, *kernel, dims, target, elements).bytes))
             : std::nullopt;
}

std::string Difference(const Module& module, const BenchTensors& tensors,
                       const std::string& graph) {
  Env dims = DimsOf(module, tensors);
  const Kernel* kernel = KernelFor(module, graph, dims);
  if (kernel == nullptr) {
    return "";
  }
  if (kernel->params.size() != tensors.all.size()) {
    return fmt::format("the number of parameters: {} and {}", kernel->params.size(),
                       tensors.all.size());
  }
  for (size_t i = 0; i < tensors.all.size(); ++i) {
    std::string of_source = TextOf(module, module.tensors[kernel->params[i]], dims);
    std::string of_launch = TextOf(tensors.all[i]);
    if (of_source != of_launch) {
      return fmt::format("a parameter: `{}` and `{}`", of_source, of_launch);
    }
  }
  return "";
}

}  // namespace etc
