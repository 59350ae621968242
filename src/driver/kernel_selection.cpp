#include "driver/kernel_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compile/sizes.h"
#include "ir/requirements.h"
#include "ir/walk.h"
#include "simulator/sizes.h"
#include "support/assignments.h"

namespace etc {
namespace {

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

std::vector<KernelId> KernelSelection::Select() {
  std::vector<std::string> dims, graphs, integers;
  bool sizes_ok = true;
  Env given;
  for (SymbolId symbol : module_.symbols.Ids()) {
    if (module_.symbols[symbol].kind == SymbolKind::Dim) {
      dims.push_back(module_.symbols[symbol].name);
      auto size = query_.sizes.find(dims.back());
      if (size != query_.sizes.end()) {
        given[symbol] = size->second;
        sizes_ok &= CheckSize(module_, symbol, size->second, "--dim", diagnostics_);
      }
    }
  }
  std::vector<KernelId> kernels;
  for (KernelId id : module_.kernels.Ids()) {
    const std::string& graph = module_.kernels[id].graph;
    if (!Contains(graphs, graph)) {
      graphs.push_back(graph);
    }
    for (TensorId param : TensorsOf(id)) {
      const Tensor& tensor = module_.tensors[param];
      if (KindOf(tensor.type) == ValueKind::Int && !Contains(integers, tensor.name)) {
        integers.push_back(tensor.name);
      }
    }
    if ((query_.graph.empty() || query_.graph == graph) && Serves(id)) {
      kernels.push_back(id);
    }
  }
  sizes_ok = sizes_ok && CheckRequirements(module_, given, diagnostics_);
  bool dims_ok = CheckNames(query_.sizes, "--dim", "dimension", dims, diagnostics_);
  bool values_ok = CheckNames(query_.values, "--value", "integer tensor", integers, diagnostics_);
  bool graph_ok =
      query_.graph.empty() || CheckName(query_.graph, "--graph", "graph", graphs, diagnostics_);
  if (!sizes_ok || !dims_ok || !values_ok || !graph_ok) {
    return {};
  }
  if (kernels.empty()) {
    diagnostics_.Error(DiagnosticKind::CommandLine, {}, "no kernel serves these sizes");
  }
  bool in_range = std::all_of(kernels.begin(), kernels.end(),
                              [&](KernelId id) { return ValuesAreInRange(id); });
  return in_range ? kernels : std::vector<KernelId>{};
}

/// Each value is one that its tensor may have at the kernel's sizes.
bool KernelSelection::ValuesAreInRange(KernelId id) const {
  const Env sizes = SizesOf(id);
  const DimRanges ranges = RangesOf(module_, module_.kernels[id]);
  for (TensorId each : TensorsOf(id)) {
    const Tensor& tensor = module_.tensors[each];
    auto value = query_.values.find(tensor.name);
    if (value == query_.values.end()) {
      continue;
    }
    constexpr Interval kAll{std::numeric_limits<int64_t>::min(),
                            std::numeric_limits<int64_t>::max()};
    Interval range = RangeOfType(tensor.type).value_or(kAll);
    if (tensor.value_lo && IsUniform(module_, tensor)) {
      auto lo = EvaluateInt(module_, tensor.value_lo, sizes, ranges);
      auto hi = EvaluateInt(module_, tensor.value_hi, sizes, ranges);
      range = {std::max(range.lo, lo.value_or(range.lo)),
               hi ? std::min(range.hi, *hi - 1) : range.hi};
    }
    if (value->second < range.lo || value->second > range.hi) {
      diagnostics_.Error(DiagnosticKind::CommandLine, tensor.range,
                         fmt::format("`--value {}={}` is not in {}..{}, both included", tensor.name,
                                     value->second, range.lo, range.hi));
      return false;
    }
  }
  return true;
}

/// A kernel's parameters and buffers.
std::vector<TensorId> KernelSelection::TensorsOf(KernelId id) const {
  std::vector<TensorId> tensors = module_.kernels[id].params;
  for (NodeId node : module_.kernels[id].declarations) {
    if (const auto* buffer = std::get_if<BufferDecl>(&module_.nodes[node])) {
      tensors.push_back(buffer->tensor);
    }
  }
  return tensors;
}

bool KernelSelection::Serves(KernelId id) const {
  Env sizes = SizesOf(id);
  for (const auto& [dim, value] : sizes) {
    Interval range = RangeOfDim(module_, dim, RangesOf(module_, module_.kernels[id])).value();
    if (value < range.lo || value > range.hi) {
      return false;
    }
  }
  return RequirementsHold(module_, sizes, RangesOf(module_, module_.kernels[id]));
}

Env KernelSelection::SizesOf(KernelId id) const {
  Env given;
  for (SymbolId dim : DimsOf(module_)) {
    if (auto size = query_.sizes.find(module_.symbols[dim].name); size != query_.sizes.end()) {
      given[dim] = size->second;
    }
  }
  return LeastSizes(module_, module_.kernels[id], given);
}

}  // namespace etc
