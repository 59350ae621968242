#include "tensor/run_tensors.h"

#include <fmt/format.h>

#include "tensor/param_values.h"

namespace etc {
namespace {

class TensorMaker {
 public:
  TensorMaker(Launcher& launcher, const GraphView& graph, const TensorSources& sources,
              Diagnostics& diagnostics)
      : launcher_(launcher), graph_(graph), sources_(sources), diagnostics_(diagnostics) {}

  std::optional<RunTensors> Run() {
    for (const etc_param_info& param : graph_.params) {
      run_.tensors.push_back(
          {param.name, param.access, param.dtype, {}, {}, {param.tile[0], param.tile[1]}});
    }
    if (!CheckSourceNames() || !SetDims() || !BindNpyInputs() || !ResolveDims() || !BindOthers()) {
      return std::nullopt;
    }
    return std::move(run_);
  }

 private:
  bool CheckSourceNames() {
    bool dims_ok = CheckNames(sources_.dims, "--dim", "dimension", graph_.DimNames(), diagnostics_);
    bool inputs_ok = CheckNames(sources_.inputs, "--input", "parameter that is read",
                                graph_.InputNames(), diagnostics_);
    return dims_ok && inputs_ok;
  }

  bool SetDims() {
    for (const auto& [name, value] : sources_.dims) {
      launcher_.SetDim(name, value);
    }
    return true;
  }

  /// Those first: their shapes can say what the dims are.
  bool BindNpyInputs() {
    bool ok = true;
    for (TensorData& tensor : run_.tensors) {
      const std::string* file = FileOf(tensor);
      if (file == nullptr || !IsNpyFile(*file)) {
        continue;
      }
      ok &= ReadTensor(*file, tensor, diagnostics_) && BindFile(tensor, *file);
    }
    return ok;
  }

  bool BindFile(const TensorData& tensor, const std::string& file) {
    try {
      launcher_.Bind(tensor);
    } catch (const Error& error) {
      if (error.status() != ETC_ERROR_BIND && error.status() != ETC_ERROR_DIM) {
        throw;
      }
      diagnostics_.Error(DiagnosticKind::Data, {},
                         fmt::format("`{}` does not fit: {}", file, error.what()));
      return false;
    }
    return true;
  }

  bool ResolveDims() {
    auto dims = etc::ResolveDims(launcher_.instance(), graph_, diagnostics_);
    if (dims) {
      run_.dims = std::move(*dims);
    }
    return dims.has_value();
  }

  bool BindOthers() {
    for (size_t i = 0; i < run_.tensors.size(); ++i) {
      TensorData& tensor = run_.tensors[i];
      const std::string* file = FileOf(tensor);
      if (file != nullptr && IsNpyFile(*file)) {
        if (!CheckValues(i, *file)) {
          return false;
        }
        continue;
      }
      tensor.shape = launcher_.Shape(tensor.name, graph_.params[i].rank);
      if (file != nullptr) {
        if (!ReadTensor(*file, tensor, diagnostics_) || !CheckValues(i, *file)) {
          return false;
        }
      } else if (tensor.access == ETC_OUT) {
        FillPoison(tensor);
      } else {
        const RandomFill fill = FillFor(launcher_.instance(), graph_.params[i], tensor.Elements(),
                                        sources_.seed, sources_.scale);
        if (!CanDraw(fill, tensor, diagnostics_)) {
          return false;
        }
        FillRandom(tensor, fill);
      }
      launcher_.Bind(tensor);
    }
    return true;
  }

  const std::string* FileOf(const TensorData& tensor) const {
    auto file = sources_.inputs.find(tensor.name);
    return file == sources_.inputs.end() ? nullptr : &file->second;
  }

  bool CheckValues(size_t index, const std::string& file) {
    return sources_.checked_by_launch ||
           etc::CheckValues(launcher_.instance(), graph_.params[index], run_.tensors[index], file,
                            diagnostics_);
  }

  Launcher& launcher_;
  const GraphView& graph_;
  const TensorSources& sources_;
  Diagnostics& diagnostics_;
  RunTensors run_;
};

}  // namespace

std::optional<RunTensors> MakeTensors(Launcher& launcher, const GraphView& graph,
                                      const TensorSources& sources, Diagnostics& diagnostics) {
  return TensorMaker(launcher, graph, sources, diagnostics).Run();
}

}  // namespace etc
