#include "verify/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "ir/evaluate.h"
#include "ir/passed_tensors.h"
#include "ir/printer.h"
#include "ir/weight_sources.h"
#include "verify/values.h"

namespace etc {
namespace {

/// How many indices the name has; nothing where it cannot be one.
std::optional<size_t> CheckName(const Tensor& param, const WeightSource& source,
                                Diagnostics& diagnostics) {
  auto error = [&](std::string_view what) {
    diagnostics.Error(DiagnosticKind::Source, param.range,
                      fmt::format("`%{}` is from \"{}\", {}", param.name, source.name, what));
    return std::nullopt;
  };
  auto places = PlacesOf(source.name);
  size_t leading = param.shape.size() - std::min(param.tile.size(), param.shape.size());
  if (source.name.empty()) {
    return error("but a tensor of a checkpoint has a name");
  }
  if (!places) {
    return error("but braces hold the name of an index, as in `{l}`");
  }
  if (places->size() > leading) {
    return error(fmt::format("whose indices are {}, but the axes{} are {}", places->size(),
                             param.tile.empty() ? "" : " in front of those of its tiles", leading));
  }
  return places->size();
}

/// The value of a bound, or nothing where an error was reported.
std::optional<int64_t> CheckBound(const Module& module, const WeightSource& source, ExprId bound,
                                  ExprChecker& exprs, Diagnostics& diagnostics) {
  const std::string what = fmt::format("the range of \"{}\"", source.name);
  const size_t before = diagnostics.error_count();
  if (exprs.CheckClosed(bound, false, what, DiagnosticKind::Source)) {
    exprs.ExpectInt(bound, what);
  }
  if (diagnostics.error_count() != before) {
    return std::nullopt;
  }
  auto value = EvaluateInt(module, bound, {});
  if (!value) {
    diagnostics.Error(
        DiagnosticKind::Source, module.RangeOf(bound),
        fmt::format("{} must have a value, but {}", what, WhyNoValue(module, bound, {}, {})));
  }
  return value;
}

/// Zeros follow behind the rows of a tensor, so only of its first axis.
void CheckPadded(const Module& module, const Tensor& param, const WeightSource& source, size_t axis,
                 size_t places, ExprId extent, ExprChecker& exprs, Diagnostics& diagnostics) {
  auto of_tensor = CheckBound(module, source, extent, exprs, diagnostics);
  auto of_param = WholeExtentOf(module, param, axis);
  if (!of_tensor || !of_param) {
    return;
  }
  auto error = [&](std::string why) {
    diagnostics.Error(DiagnosticKind::Source, module.RangeOf(extent), std::move(why));
  };
  if (axis != places) {
    error(
        fmt::format("`%{}` pads axis {} of \"{}\", but only the first axis of a tensor can be "
                    "padded",
                    param.name, axis - places, source.name));
  } else if (*of_tensor < 0 || *of_tensor > *of_param) {
    error(
        fmt::format("`%{}` pads an axis of \"{}\" that has {} elements, but axis {} of the "
                    "parameter has {}",
                    param.name, source.name, *of_tensor, axis, *of_param));
  }
}

/// A range is inside of the tensor's axis, and has as many elements as all ranks together have of
/// the parameter's axis.
void CheckRange(const Module& module, const Tensor& param, const WeightSource& source, size_t axis,
                const AxisRange& range, ExprChecker& exprs, Diagnostics& diagnostics) {
  auto lo = CheckBound(module, source, range.lo, exprs, diagnostics);
  auto hi = CheckBound(module, source, range.hi, exprs, diagnostics);
  auto of_tensor = CheckBound(module, source, range.extent, exprs, diagnostics);
  auto of_param = WholeExtentOf(module, param, axis);
  if (!lo || !hi || !of_tensor || !of_param) {
    return;
  }
  auto error = [&](std::string_view why) {
    diagnostics.Error(DiagnosticKind::Source, module.RangeOf(range.lo),
                      fmt::format("`%{}` takes {} .. {} of an axis of \"{}\", {}", param.name, *lo,
                                  *hi, source.name, why));
  };
  if (*lo < 0) {
    error("whose first element is 0");
  } else if (*hi < *lo) {
    error("which ends before it begins");
  } else if (*hi > *of_tensor) {
    error(fmt::format("which has {}", *of_tensor));
  } else if (*hi - *lo != *of_param) {
    error(fmt::format("{} elements for axis {} of the parameter, which has {}", *hi - *lo, axis,
                      *of_param));
  }
}

void CheckSource(const Module& module, const Tensor& param, const WeightSource& source,
                 ExprChecker& exprs, Diagnostics& diagnostics) {
  auto places = CheckName(param, source, diagnostics);
  if (!places) {
    return;
  }
  if (source.ranges.size() > param.shape.size() - *places) {
    diagnostics.Error(
        DiagnosticKind::Source, source.range,
        fmt::format("`%{}` has {} axes in each tensor \"{}\", but the ranges are {}", param.name,
                    param.shape.size() - *places, source.name, source.ranges.size()));
    return;
  }
  for (size_t i = 0; i < source.ranges.size(); ++i) {
    const AxisRange& range = source.ranges[i];
    if (range.lo) {
      CheckRange(module, param, source, *places + i, range, exprs, diagnostics);
    } else if (range.extent) {
      CheckPadded(module, param, source, *places + i, *places, range.extent, exprs, diagnostics);
    }
  }
}

}  // namespace

void CheckSources(const Module& module, const Tensor& param, ExprChecker& exprs,
                  Diagnostics& diagnostics) {
  if (param.sources.empty()) {
    return;
  }
  if (param.access != Access::In) {
    diagnostics.Error(
        DiagnosticKind::Source, param.range,
        fmt::format("`%{}` is written, so it cannot be a tensor of a checkpoint", param.name));
  }
  for (ExprId extent : param.shape) {
    if (!EvaluateInt(module, extent, {})) {
      diagnostics.Error(
          DiagnosticKind::Source, module.RangeOf(extent),
          fmt::format("`%{}` is a tensor of a checkpoint, so its extent `{}` must be a constant",
                      param.name, Print(module, extent)));
    }
  }
  std::set<std::string_view> names;
  for (const WeightSource& source : param.sources) {
    CheckSource(module, param, source, exprs, diagnostics);
    if (!names.insert(source.name).second) {
      diagnostics.Error(DiagnosticKind::Source, source.range,
                        fmt::format("`%{}` is from \"{}\" twice, and the first that a checkpoint "
                                    "has counts",
                                    param.name, source.name));
    }
  }
}

void CheckSourcesUsed(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  const std::set<TensorId> passed = PassedTensors(module, graph.body);
  for (TensorId id : graph.params) {
    const Tensor& param = module.tensors[id];
    if (!param.sources.empty() && !passed.contains(id)) {
      diagnostics.Warning(
          DiagnosticKind::Source, param.range,
          fmt::format("`%{}` is a tensor of a checkpoint, but no call takes it", param.name));
    }
  }
}

}  // namespace etc
