#include "bench/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tensor/param_values.h"
#include "tensor/tensor_data.h"

namespace etc {
namespace {

constexpr int64_t kBlockBytes = int64_t{32} << 20;

class BenchTensorMaker {
 public:
  BenchTensorMaker(BenchPlace& place, const Program& program, const GraphView& graph,
                   const BenchSources& sources, Diagnostics& diagnostics)
      : place_(place),
        program_(program),
        graph_(graph),
        sources_(sources),
        diagnostics_(diagnostics),
        instance_(program, graph.name.c_str()) {}

  std::optional<BenchTensors> Run() {
    if (!CheckSources()) {
      return std::nullopt;
    }
    for (const auto& [name, value] : sources_.dims) {
      instance_.SetDim(name, value);
    }
    for (const etc_param_info& param : graph_.params) {
      BenchTensor& tensor = made_.all.emplace_back();
      tensor.name = param.name;
      tensor.access = param.access;
      tensor.dtype = param.dtype;
      tensor.tile = {param.tile[0], param.tile[1]};
    }
    if (!ReadNpyFiles()) {
      return std::nullopt;
    }
    auto dims = ResolveDims(instance_, graph_, diagnostics_);
    if (!dims) {
      return std::nullopt;
    }
    made_.dims = std::move(*dims);
    for (size_t i = 0; i < made_.all.size(); ++i) {
      BenchTensor& tensor = made_.all[i];
      tensor.shape = instance_.Shape(tensor.name, graph_.params[i].rank);
      tensor.bytes = etc_dtype_bytes(tensor.dtype);
      for (int64_t extent : tensor.shape) {
        tensor.bytes *= extent;
      }
    }
    if (!CheckMemory()) {
      return std::nullopt;
    }
    for (size_t i = 0; i < made_.all.size(); ++i) {
      if (!Make(i)) {
        return std::nullopt;
      }
    }
    return std::move(made_);
  }

 private:
  bool CheckSources() {
    std::vector<std::string> inputs = graph_.InputNames();
    bool ok = CheckNames(sources_.dims, "--dim", "dimension", graph_.DimNames(), diagnostics_);
    ok &= CheckNames(sources_.inputs, "--input", "parameter that is read", inputs, diagnostics_);
    ok &= CheckNames(sources_.values, "--value", "parameter that is read", inputs, diagnostics_);
    for (const etc_param_info& param : graph_.params) {
      auto value = sources_.values.find(param.name);
      ok &= value == sources_.values.end() || CheckValueFits(param, value->second);
    }
    return ok;
  }

  bool CheckValueFits(const etc_param_info& param, int64_t value) {
    std::string problem;
    if (IsFloat(param.dtype)) {
      problem = "its elements are no integers";
    } else if (param.distinct != 0) {
      problem = "no two of its elements may be equal";
    } else if (sources_.inputs.contains(param.name)) {
      problem = "`--input` gives its elements";
    } else if (auto [least, greatest] = IntegersOf(param.dtype);
               value < least || value > greatest) {
      problem = fmt::format("{} is no {}", value, etc_dtype_name(param.dtype));
    } else {
      return true;
    }
    diagnostics_.Error(DiagnosticKind::CommandLine, {},
                       fmt::format("`--value {}`: {}", param.name, problem));
    return false;
  }

  /// Before anything else: their shapes can say what the dims are.
  bool ReadNpyFiles() {
    bool ok = true;
    for (const BenchTensor& tensor : made_.all) {
      auto file = sources_.inputs.find(tensor.name);
      if (file == sources_.inputs.end() || !IsNpyFile(file->second)) {
        continue;
      }
      TensorData data{tensor.name, tensor.access, tensor.dtype, {}, {}, tensor.tile};
      if (!ReadTensor(file->second, data, diagnostics_)) {
        ok = false;
        continue;
      }
      try {
        // The place's memory of it is made when all sizes are known.
        instance_.Bind(tensor.name, Placeholder(data.bytes.size()), tensor.dtype,
                       PackedShape(data.shape, tensor.tile.data()));
      } catch (const Error& error) {
        if (error.status() != ETC_ERROR_BIND && error.status() != ETC_ERROR_DIM) {
          throw;
        }
        diagnostics_.Error(DiagnosticKind::Data, {},
                           fmt::format("`{}` does not fit: {}", file->second, error.what()));
        ok = false;
      }
    }
    return ok;
  }

  /// Memory that a bind takes, of which only the shape and the size count.
  void* Placeholder(size_t bytes) {
    if (placeholder_ == nullptr || placeholder_bytes_ < bytes) {
      placeholder_bytes_ = std::max<size_t>(bytes, 1);
      placeholder_ = place_.Allocate(static_cast<int64_t>(placeholder_bytes_));
    }
    return placeholder_;
  }

  bool CheckMemory() {
    int64_t needed = 0;
    for (const BenchTensor& tensor : made_.all) {
      needed += tensor.access == ETC_INOUT ? 2 * tensor.bytes : tensor.bytes;
    }
    if (place_.MemoryBytes() == 0 || needed <= place_.MemoryBytes()) {
      return true;
    }
    diagnostics_.Error(DiagnosticKind::Device, {},
                       fmt::format("the tensors need {:.1f} GB; {} has {:.1f} GB",
                                   static_cast<double>(needed) / 1e9, place_.Name(),
                                   static_cast<double>(place_.MemoryBytes()) / 1e9));
    return false;
  }

  bool Make(size_t index) {
    BenchTensor& tensor = made_.all[index];
    tensor.data = place_.Allocate(std::max<int64_t>(tensor.bytes, 1));
    if (tensor.access == ETC_OUT) {
      return true;
    }
    auto data = DataFor(index);
    if (!data) {
      return false;
    }
    tensor.mean = MeanOf(*data);
    Replicate(data->bytes, tensor);
    if (tensor.access == ETC_INOUT) {
      tensor.original = place_.Allocate(std::max<int64_t>(tensor.bytes, 1));
      place_.Copy(tensor.original, tensor.data, tensor.bytes);
    }
    return true;
  }

  /// All elements of the tensor or the first ones, in the order in which a launch takes them.
  std::optional<TensorData> DataFor(size_t index) {
    const etc_param_info& param = graph_.params[index];
    const BenchTensor& tensor = made_.all[index];
    TensorData data{tensor.name, tensor.access, tensor.dtype, tensor.shape, {}, tensor.tile};
    if (auto file = sources_.inputs.find(tensor.name); file != sources_.inputs.end()) {
      if (!ReadTensor(file->second, data, diagnostics_) ||
          !CheckValues(instance_, param, data, file->second, diagnostics_)) {
        return std::nullopt;
      }
      if (data.InTiles()) {
        const Bytes row_major = data.bytes;
        program_.Pack(graph_.name.c_str(), data.name, data.shape, row_major.data(),
                      data.bytes.data());
      }
      return data;
    }
    RandomFill fill = FillFor(instance_, param, data.Elements(), sources_.seed, sources_.scale);
    if (!fill.distinct && !fill.monotone) {
      data.shape = {std::min(data.Elements(), kBlockBytes / etc_dtype_bytes(data.dtype))};
    }
    auto value = sources_.values.find(tensor.name);
    if (value == sources_.values.end() && !CanDraw(fill, data, diagnostics_)) {
      return std::nullopt;
    }
    if (value != sources_.values.end()) {
      fill.int_min = fill.int_max = value->second;
    }
    FillRandom(data, fill);
    if (value != sources_.values.end() &&
        !CheckValues(instance_, param, data, "--value", diagnostics_)) {
      return std::nullopt;
    }
    return data;
  }

  static std::optional<int64_t> MeanOf(const TensorData& data) {
    if (IsFloat(data.dtype) || data.Elements() == 0) {
      return std::nullopt;
    }
    double sum = 0;
    for (int64_t i = 0; i < data.Elements(); ++i) {
      sum += static_cast<double>(ElementAsInt(data.dtype, data.bytes.data(), i));
    }
    return std::llround(sum / static_cast<double>(data.Elements()));
  }

  /// Each copy doubles what there is.
  void Replicate(const Bytes& block, const BenchTensor& tensor) {
    auto filled = static_cast<int64_t>(block.size());
    place_.Upload(tensor.data, block.data(), filled);
    char* data = static_cast<char*>(tensor.data);
    while (filled < tensor.bytes) {
      int64_t more = std::min(filled, tensor.bytes - filled);
      place_.Copy(data + filled, data, more);
      filled += more;
    }
  }

  BenchPlace& place_;
  const Program& program_;
  const GraphView& graph_;
  const BenchSources& sources_;
  Diagnostics& diagnostics_;
  Instance instance_;  // of which the sizes and ranges follow
  void* placeholder_ = nullptr;
  size_t placeholder_bytes_ = 0;
  BenchTensors made_;
};

}  // namespace

void BenchTensors::BindTo(Instance& instance) const {
  for (const auto& [name, value] : dims) {
    instance.SetDim(name, value);
  }
  for (const BenchTensor& tensor : all) {
    instance.Bind(tensor.name, tensor.data, tensor.dtype,
                  PackedShape(tensor.shape, tensor.tile.data()));
  }
}

void BenchTensors::Restore(BenchPlace& place) const {
  for (const BenchTensor& tensor : all) {
    if (tensor.original != nullptr) {
      place.Copy(tensor.data, tensor.original, tensor.bytes);
    }
  }
}

void BenchTensors::Poison(BenchPlace& place) const {
  for (const BenchTensor& tensor : all) {
    if (tensor.access == ETC_OUT) {
      place.Fill(tensor.data, 0xff, tensor.bytes);
    }
  }
}

std::optional<BenchTensors> MakeBenchTensors(BenchPlace& place, const Program& program,
                                             const GraphView& graph, const BenchSources& sources,
                                             Diagnostics& diagnostics) {
  if (!graph.mesh.empty()) {
    diagnostics.Error(
        DiagnosticKind::CommandLine, {},
        fmt::format("`@{}` runs on several ranks; only graphs of one can be measured", graph.name));
    return std::nullopt;
  }
  return BenchTensorMaker(place, program, graph, sources, diagnostics).Run();
}

}  // namespace etc
