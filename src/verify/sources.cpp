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

void CheckName(const Tensor& param, const std::string& source, Diagnostics& diagnostics) {
  auto error = [&](std::string_view what) {
    diagnostics.Error(DiagnosticKind::Source, param.range,
                      fmt::format("`%{}` is from \"{}\", {}", param.name, source, what));
  };
  auto places = PlacesOf(source);
  size_t leading = param.shape.size() - std::min(param.tile.size(), param.shape.size());
  if (source.empty()) {
    error("but a tensor of a checkpoint has a name");
  } else if (!places) {
    error("but braces hold the name of an index, as in `{l}`");
  } else if (places->size() > leading) {
    error(fmt::format("whose indices are {}, but the axes{} are {}", places->size(),
                      param.tile.empty() ? "" : " in front of those of its tiles", leading));
  }
}

}  // namespace

void CheckSources(const Module& module, const Tensor& param, Diagnostics& diagnostics) {
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
  for (const std::string& source : param.sources) {
    CheckName(param, source, diagnostics);
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
