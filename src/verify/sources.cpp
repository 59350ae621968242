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
#include "ir/shard.h"

namespace etc {
namespace {

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The different names in braces; nothing where a brace has no partner or holds no name.
std::optional<std::vector<std::string_view>> PlacesOf(std::string_view source) {
  std::vector<std::string_view> places;
  for (size_t at = source.find_first_of("{}"); at != std::string_view::npos;
       at = source.find_first_of("{}", at)) {
    size_t end = source.find_first_of("{}", at + 1);
    if (source[at] == '}' || end == std::string_view::npos || source[end] == '{') {
      return std::nullopt;
    }
    std::string_view place = source.substr(at + 1, end - at - 1);
    if (place.empty() || !std::all_of(place.begin(), place.end(), IsWordCharacter)) {
      return std::nullopt;
    }
    if (std::find(places.begin(), places.end(), place) == places.end()) {
      places.push_back(place);
    }
    at = end + 1;
  }
  return places;
}

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

/// A range of a tensor has as many elements as all ranks together have of the parameter's axis.
void CheckRange(const Module& module, const Tensor& param, const WeightSource& source, size_t axis,
                const AxisRange& range, ExprChecker& exprs, Diagnostics& diagnostics) {
  const std::string what = fmt::format("the range of \"{}\"", source.name);
  for (ExprId bound : {range.lo, range.hi}) {
    if (!exprs.CheckClosed(bound, false, what, DiagnosticKind::Source)) {
      return;
    }
    exprs.ExpectInt(bound, what);
  }
  const ExprId extent = param.shard == axis ? WholeExtent(module, param) : param.shape[axis];
  auto lo = EvaluateInt(module, range.lo, {}), hi = EvaluateInt(module, range.hi, {});
  auto elements = EvaluateInt(module, extent, {});
  if (!lo || !hi || !elements) {
    return;  // said elsewhere
  }
  auto error = [&](std::string_view why) {
    diagnostics.Error(
        DiagnosticKind::Source, module.RangeOf(range.lo),
        fmt::format("`%{}` takes {} .. {} of \"{}\", {}", param.name, *lo, *hi, source.name, why));
  };
  if (*lo < 0) {
    error("whose axes begin at 0");
  } else if (*hi - *lo != *elements) {
    error(fmt::format("{} elements for its axis {}, which has {}", *hi - *lo, axis, *elements));
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
    if (source.ranges[i].lo) {
      CheckRange(module, param, source, *places + i, source.ranges[i], exprs, diagnostics);
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
  for (const WeightSource& source : param.sources) {
    CheckSource(module, param, source, exprs, diagnostics);
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
