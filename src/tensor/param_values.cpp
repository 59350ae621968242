#include "tensor/param_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace etc {

std::optional<std::map<std::string, int64_t>> ResolveDims(const Instance& instance,
                                                          const GraphView& graph,
                                                          Diagnostics& diagnostics) {
  std::map<std::string, int64_t> dims;
  for (const etc_dim_info& dim : graph.dims) {
    try {
      dims[dim.name] = instance.Dim(dim.name);
    } catch (const Error& error) {
      std::string multiple =
          dim.multiple == 1 ? "" : fmt::format(", a multiple of {}", dim.multiple);
      Diagnostic& report = diagnostics.Error(DiagnosticKind::CommandLine, {}, error.what());
      report.notes.push_back(
          {{},
           fmt::format("`--dim {}=N` sets it: {}..{}{}", dim.name, dim.min, dim.max, multiple)});
    }
  }
  return dims.size() == graph.dims.size() ? std::optional(dims) : std::nullopt;
}

RandomFill FillFor(const Instance& instance, const etc_param_info& param, int64_t elements,
                   uint64_t seed, double scale) {
  RandomFill fill{seed, scale, 0, 1, param.distinct != 0, param.monotone != 0};
  if (param.has_value_range != 0) {
    // Of the range, what an element can be.
    const auto [declared_min, declared_max] = instance.ValueRange(param.name);
    const auto [least, greatest] = IntegersOf(param.dtype);
    fill.int_min = std::clamp(declared_min, least, greatest);
    fill.int_max = std::clamp(declared_max, least, greatest);
  } else if (fill.distinct) {
    fill.int_max = std::max<int64_t>(elements - 1, 0);
  }
  return fill;
}

bool CanDraw(const RandomFill& fill, const TensorData& tensor, Diagnostics& diagnostics) {
  const auto span = static_cast<uint64_t>(fill.int_max) - static_cast<uint64_t>(fill.int_min);
  const auto elements = static_cast<uint64_t>(tensor.Elements());
  if (!fill.distinct || elements == 0 || span >= elements - 1) {
    return true;
  }
  Diagnostic& error = diagnostics.Error(
      DiagnosticKind::Data, {},
      fmt::format(
          "parameter `%{}` has {} elements, which must be distinct, and they have {} values "
          "at these sizes, from {} to {}",
          tensor.name, elements, span + 1, fill.int_min, fill.int_max));
  error.notes.push_back({{}, "`--dim NAME=N` sets other sizes"});
  return false;
}

bool CheckValues(const Instance& instance, const etc_param_info& param, const TensorData& tensor,
                 const std::string& origin, Diagnostics& diagnostics) {
  if (param.has_value_range == 0) {
    return true;
  }
  auto [min, max] = instance.ValueRange(param.name);
  for (int64_t i = 0; i < tensor.Elements(); ++i) {
    int64_t value = ElementAsInt(tensor.dtype, tensor.bytes.data(), i);
    if (value < min || value > max) {
      diagnostics.Error(DiagnosticKind::Data, {},
                        fmt::format("`{}` for parameter `%{}` has {} as element {}; expected {} to "
                                    "{}",
                                    origin, tensor.name, value, i, min, max));
      return false;
    }
  }
  return true;
}

}  // namespace etc
