#include "bench/bytes_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/evaluate.h"
#include "simulator/kernel_cost.h"
#include "tensor/npy.h"

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
std::string TextOf(std::string_view name, std::string_view dtype,
                   const std::vector<int64_t>& shape) {
  return fmt::format("%{}: {}[{}]", name, dtype, shape.empty() ? "" : ShapeText(shape));
}

std::string TextOf(const Module& module, const Tensor& param, const Env& dims) {
  std::vector<int64_t> shape;
  for (ExprId extent : param.shape) {
    shape.push_back(EvaluateInt(module, extent, dims).value_or(-1));
  }
  return TextOf(param.name, Spelling(param.type), shape);
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
    const BenchTensor& tensor = tensors.all[i];
    std::string texts[] = {TextOf(module, module.tensors[kernel->params[i]], dims),
                           TextOf(tensor.name, etc_dtype_name(tensor.dtype), tensor.shape)};
    if (texts[0] != texts[1]) {
      return fmt::format("a parameter: `{}` and `{}`", texts[0], texts[1]);
    }
  }
  return "";
}

}  // namespace etc
