#include "driver/kernel_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "compile/sizes.h"
#include "ir/requirements.h"
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
  for (const Item& item : module_.items) {  // in the program's order, which the ids do not have
    const auto* kernel = std::get_if<KernelId>(&item);
    if (kernel == nullptr) {
      continue;
    }
    const KernelId id = *kernel;
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
  for (TensorId tensor : TensorsOf(id)) {
    auto value = query_.values.find(module_.tensors[tensor].name);
    if (value != query_.values.end() && !IsInRange(id, tensor, value->second)) {
      return false;
    }
  }
  return true;
}

bool KernelSelection::IsInRange(KernelId id, TensorId given, int64_t value) const {
  const Tensor& tensor = module_.tensors[given];
  for (TensorId said : RangedBy(id, given)) {
    const Interval range = ValuesOf(id, said);
    if (value >= range.lo && value <= range.hi) {
      continue;
    }
    Diagnostic& error =
        diagnostics_.Error(DiagnosticKind::CommandLine, tensor.range,
                           fmt::format("`--value {}={}` is not in {}..{}, both included",
                                       tensor.name, value, range.lo, range.hi));
    if (said != given) {
      error.notes.push_back({module_.tensors[said].range, "what reads it says its range here"});
    }
    return false;
  }
  return true;
}

/// Where the range of a tensor's values stands: at the tensor, or at the parameters of those that
/// read what the launch computes.
std::vector<TensorId> KernelSelection::RangedBy(KernelId id, TensorId tensor) const {
  std::vector<TensorId> ranged = {tensor};
  if (module_.tensors[tensor].value_lo) {
    return ranged;
  }
  for (const ShareSite& site : SharesOf(module_, module_.kernels[id])) {
    const Share& share = std::get<Share>(module_.nodes[site.share]);
    for (size_t i = 0; i < share.args.size(); ++i) {
      if (share.args[i].tensor == tensor) {
        ranged.push_back(module_.devices[share.callee].params[i]);
      }
    }
  }
  return ranged;
}

/// The values that any element of the tensor may have, as far as the kernel's sizes tell.
Interval KernelSelection::ValuesOf(KernelId id, TensorId said) const {
  constexpr Interval kAll{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  const Tensor& tensor = module_.tensors[said];
  Interval values = RangeOfType(tensor.type).value_or(kAll);
  if (!tensor.value_lo) {
    return values;
  }
  const Env sizes = SizesOf(id);
  const DimRanges ranges = RangesOf(module_, module_.kernels[id]);
  std::map<SymbolId, Interval> known;
  for (const auto& [dim, size] : sizes) {
    known[dim] = {size, size};
  }
  for (size_t i = 0; i < tensor.indices.size(); ++i) {
    auto extent = EvaluateInt(module_, tensor.shape[i], sizes, ranges);
    if (tensor.indices[i] && extent && *extent > 0) {
      known[tensor.indices[i]] = {0, *extent - 1};
    }
  }
  // Bounds are exact only for an end that can be evaluated: one that is the same for all elements.
  auto bounds = [&](ExprId end) {
    auto exact = EvaluateInt(module_, end, sizes, ranges);
    return exact ? std::optional(Interval{*exact, *exact}) : Bounds(module_, end, known, ranges);
  };
  if (auto lo = bounds(tensor.value_lo)) {
    values.lo = std::max(values.lo, lo->lo);
  }
  if (auto hi = bounds(tensor.value_hi)) {
    values.hi = std::min(values.hi, hi->hi - 1);
  }
  return values;
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
