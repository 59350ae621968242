#include "driver/run_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace etc {
namespace {

class TensorMaker {
 public:
  TensorMaker(Execution& execution, const GraphView& graph, const TensorSources& sources,
              Diagnostics& diagnostics)
      : execution_(execution), graph_(graph), sources_(sources), diagnostics_(diagnostics) {}

  std::optional<RunTensors> Run() {
    for (const etc_param_info& param : graph_.params) {
      run_.tensors.push_back({param.name, param.access, param.dtype, {}, {}, param.has_tile != 0});
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
      execution_.instance().SetDim(name, value);
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
      execution_.Bind(tensor);
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
    bool ok = true;
    for (const etc_dim_info& dim : graph_.dims) {
      try {
        run_.dims[dim.name] = execution_.instance().Dim(dim.name);
      } catch (const Error& error) {
        std::string multiple =
            dim.multiple == 1 ? "" : fmt::format(", a multiple of {}", dim.multiple);
        Diagnostic& report = diagnostics_.Error(DiagnosticKind::CommandLine, {}, error.what());
        report.notes.push_back(
            {{},
             fmt::format("`--dim {}=N` sets it: {}..{}{}", dim.name, dim.min, dim.max, multiple)});
        ok = false;
      }
    }
    return ok;
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
      tensor.shape = execution_.instance().Shape(tensor.name, graph_.params[i].rank);
      if (file != nullptr) {
        if (!ReadTensor(*file, tensor, diagnostics_) || !CheckValues(i, *file)) {
          return false;
        }
      } else if (tensor.access == ETC_OUT) {
        FillPoison(tensor);
      } else {
        FillRandom(tensor, FillFor(graph_.params[i], tensor.Elements()));
      }
      execution_.Bind(tensor);
    }
    return true;
  }

  const std::string* FileOf(const TensorData& tensor) const {
    auto file = sources_.inputs.find(tensor.name);
    return file == sources_.inputs.end() ? nullptr : &file->second;
  }

  RandomFill FillFor(const etc_param_info& param, int64_t elements) {
    RandomFill fill{sources_.seed, sources_.scale, 0, 1, param.distinct != 0, param.monotone != 0};
    if (param.has_value_range != 0) {
      std::tie(fill.int_min, fill.int_max) = execution_.instance().ValueRange(param.name);
    } else if (fill.distinct) {
      fill.int_max = std::max<int64_t>(elements - 1, 0);
    }
    return fill;
  }

  /// What the program was promised of each element of a parameter, under the sizes of this run.
  bool CheckValues(size_t index, const std::string& file) {
    const TensorData& tensor = run_.tensors[index];
    if (graph_.params[index].has_value_range == 0) {
      return true;
    }
    auto [min, max] = execution_.instance().ValueRange(tensor.name);
    for (int64_t i = 0; i < tensor.Elements(); ++i) {
      int64_t value = ElementAsInt(tensor.dtype, tensor.bytes.data(), i);
      if (value < min || value > max) {
        diagnostics_.Error(
            DiagnosticKind::Data, {},
            fmt::format("`{}` for parameter `%{}` has {} as element {}; expected {} to {}", file,
                        tensor.name, value, i, min, max));
        return false;
      }
    }
    return true;
  }

  Execution& execution_;
  const GraphView& graph_;
  const TensorSources& sources_;
  Diagnostics& diagnostics_;
  RunTensors run_;
};

}  // namespace

std::optional<RunTensors> MakeTensors(Execution& execution, const GraphView& graph,
                                      const TensorSources& sources, Diagnostics& diagnostics) {
  return TensorMaker(execution, graph, sources, diagnostics).Run();
}

}  // namespace etc
