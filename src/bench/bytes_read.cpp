#include "bench/bytes_read.h"

#include <algorithm>
#include <cmath>

#include "simulator/kernel_cost.h"

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

}  // namespace

std::optional<int64_t> BytesRead(const Module& module, const BenchTensors& tensors,
                                 const std::string& graph, const Target& target) {
  Env dims;
  for (SymbolId symbol : module.symbols.Ids()) {
    auto size = tensors.dims.find(module.symbols[symbol].name);
    if (module.symbols[symbol].kind == SymbolKind::Dim && size != tensors.dims.end()) {
      dims[symbol] = size->second;
    }
  }
  std::map<std::string, int64_t> elements;
  for (const BenchTensor& tensor : tensors.all) {
    if (tensor.mean) {
      elements[tensor.name] = *tensor.mean;
    }
  }
  for (KernelId id : module.kernels.Ids()) {
    const Kernel& kernel = module.kernels[id];
    if (kernel.graph == graph && Serves(module, kernel, dims)) {
      return std::llround(CostOf(module, kernel, dims, target, elements).bytes);
    }
  }
  return std::nullopt;
}

}  // namespace etc
