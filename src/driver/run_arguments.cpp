#include "driver/run_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compile/sizes.h"
#include "ir/requirements.h"
#include "ir/shard.h"
#include "support/files.h"
#include "tensor/program_view.h"
#include "tensor/tensor_data.h"

namespace etc {
namespace {

/// A graph of the source, or the kernels that it became.
struct Callable {
  std::string name;
  std::vector<TensorId> params;
};

std::vector<Callable> CallablesOf(const Module& module) {
  std::vector<Callable> all;
  // A graph may be there in several ranges of sizes, as graphs or as kernels.
  auto add = [&](const std::string& name, const std::vector<TensorId>& params) {
    auto same = [&](const Callable& other) { return other.name == name; };
    if (std::none_of(all.begin(), all.end(), same)) {
      all.push_back({name, params});
    }
  };
  for (const Item& item : module.items) {
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      add(SourceName(module.graphs[*graph]), module.graphs[*graph].params);
    } else if (const auto* kernel = std::get_if<KernelId>(&item)) {
      add(module.kernels[*kernel].graph, module.kernels[*kernel].params);
    }
  }
  return all;
}

class ArgumentCheck {
 public:
  ArgumentCheck(const Module& module, const RunArguments& arguments, Diagnostics& diagnostics)
      : module_(module), arguments_(arguments), diagnostics_(diagnostics) {}

  bool Run() {
    size_t before = diagnostics_.error_count();
    Dims();
    if (auto callable = Select()) {
      Names(*callable);
      if (diagnostics_.error_count() == before) {
        Files(*callable);
      }
    }
    return diagnostics_.error_count() == before;
  }

 private:
  void Dims() {
    std::vector<std::string> known;
    for (SymbolId dim : DimsOf(module_)) {
      known.push_back(module_.symbols[dim].name);
      auto given = arguments_.dims.find(known.back());
      if (given != arguments_.dims.end() &&
          CheckSize(module_, dim, given->second, "--dim", diagnostics_)) {
        sizes_[dim] = given->second;
      }
    }
    (void)CheckNames(arguments_.dims, "--dim", "dimension", known, diagnostics_);
    CheckRequirements(module_, sizes_, diagnostics_);
  }

  /// The graph that is meant. What is said of a wrong one is said as of an artifact's.
  std::optional<Callable> Select() {
    std::vector<Callable> all = CallablesOf(module_);
    std::vector<std::string> names;
    for (const Callable& callable : all) {
      if (callable.name == arguments_.graph || (arguments_.graph.empty() && all.size() == 1)) {
        return callable;
      }
      names.push_back(callable.name);
    }
    ReportNoGraph(arguments_.graph, names, diagnostics_);
    return std::nullopt;
  }

  void Names(const Callable& callable) {
    std::vector<std::string> inputs, outputs;
    for (TensorId id : callable.params) {
      const Tensor& tensor = module_.tensors[id];
      if (tensor.access != Access::Out) {
        inputs.push_back(tensor.name);
      }
      if (tensor.access != Access::In) {
        outputs.push_back(tensor.name);
      }
    }
    (void)CheckNames(arguments_.inputs, "--input", "parameter that is read", inputs, diagnostics_);
    (void)CheckNames(arguments_.outputs, "--output", "parameter that is written", outputs,
                     diagnostics_);
  }

  void Files(const Callable& callable) {
    for (TensorId id : callable.params) {
      const Tensor& tensor = module_.tensors[id];
      auto file = arguments_.inputs.find(tensor.name);
      if (file == arguments_.inputs.end() || file->second == "-" ||
          !CheckReadable(file->second, diagnostics_) || !IsNpyFile(file->second)) {
        continue;
      }
      std::vector<std::optional<int64_t>> extents;
      for (size_t i = 0; i < tensor.shape.size(); ++i) {
        // A file holds what all ranks have together.
        ExprId extent = tensor.shard == i ? WholeExtent(module_, tensor) : tensor.shape[i];
        extents.push_back(EvaluateInt(module_, extent, sizes_));
      }
      CheckNpyHeader(file->second, tensor.name, Spelling(tensor.type), extents, diagnostics_);
    }
  }

  const Module& module_;
  const RunArguments& arguments_;
  Diagnostics& diagnostics_;
  Env sizes_;  // those that are given
};

}  // namespace

bool CheckRunArguments(const Module& module, const RunArguments& arguments,
                       Diagnostics& diagnostics) {
  return ArgumentCheck(module, arguments, diagnostics).Run();
}

}  // namespace etc
