#include "runtime/features.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "runtime/dtype.h"
#include "runtime/json_document.h"
#include "runtime/manifest_expr.h"
#include "runtime/tensor_maps.h"

namespace etc::runtime {
namespace {

using manifest::Graph;
using manifest::Kernel;
using manifest::Launch;
using manifest::Param;

struct Feature {
  std::string_view name;
  bool (*of_param)(const Param& param);
  bool (*of_kernel)(const Kernel& kernel);
  bool (*of_graph)(const Graph& graph) = nullptr;
};

bool HasRepeat(const Kernel& kernel) {
  return std::any_of(kernel.launches.begin(), kernel.launches.end(),
                     [](const Launch& launch) { return launch.is_repeat; });
}

/// Whether sizes decide how often launches are repeated.
bool HasRepeatOfSizes(const Launch& launch) {
  return launch.is_repeat &&
         (NamesDim(launch.begin) || NamesDim(launch.end) ||
          std::any_of(launch.launches.begin(), launch.launches.end(), HasRepeatOfSizes));
}

/// Whether a row of a box is wider than a swizzle: it is one of tiles.
bool HasBoxOfTiles(const Kernel& kernel) {
  return std::any_of(kernel.tensor_maps.begin(), kernel.tensor_maps.end(), [](const auto& map) {
    return map.box_columns * FindDType(map.dtype)->bytes > kWidestSwizzle;
  });
}

constexpr Feature kFeatures[] = {
    {"distinct", [](const Param& param) { return param.distinct; }, nullptr},
    {"monotone", [](const Param& param) { return param.monotone; }, nullptr},
    {"value_ranges", [](const Param& param) { return param.values.has_value(); }, nullptr},
    {"arrays", [](const Param& param) { return param.array; }, nullptr},
    {"tiles", [](const Param& param) { return param.tile.has_value(); }, nullptr},
    {"swizzle", [](const Param& param) { return param.tile && param.tile->swizzle; }, nullptr},
    {"shared_parts", [](const Param& param) { return param.parts.has_value(); }, nullptr},
    {"sources", [](const Param& param) { return !param.sources.empty(); }, nullptr},
    {"source_ranges",
     [](const Param& param) {
       return std::any_of(param.sources.begin(), param.sources.end(),
                          [](const auto& source) { return !source.ranges.empty(); });
     },
     nullptr},
    {"padded_sources",
     [](const Param& param) {
       return std::any_of(param.sources.begin(), param.sources.end(), [](const auto& source) {
         return std::any_of(source.ranges.begin(), source.ranges.end(),
                            [](const auto& range) { return range && range->is_padded; });
       });
     },
     nullptr},
    {"where", nullptr, [](const Kernel& kernel) { return !kernel.where.empty(); }},
    {"launches", nullptr, [](const Kernel& kernel) { return kernel.entry.empty(); }},
    {"repeats", nullptr, HasRepeat},
    {"repeats_of_sizes", nullptr,
     [](const Kernel& kernel) {
       return std::any_of(kernel.launches.begin(), kernel.launches.end(), HasRepeatOfSizes);
     }},
    {"tensor_maps", nullptr, [](const Kernel& kernel) { return !kernel.tensor_maps.empty(); }},
    {"boxes_of_tiles", nullptr, HasBoxOfTiles},
    {"profile", nullptr, [](const Kernel& kernel) { return kernel.profile.has_value(); }},
    {"ranks", nullptr, [](const Kernel&) { return false; },
     [](const Graph& graph) { return graph.mesh.has_value(); }},
    {"requirements", nullptr, [](const Kernel& kernel) { return !kernel.requirements.empty(); },
     [](const Graph& graph) { return !graph.requirements.empty(); }},
};
constexpr std::string_view kDebugChecks = "debug_checks";
constexpr std::string_view kWatchdog = "watchdog";
constexpr std::string_view kImages = "images";

bool Lists(const std::vector<std::string>& features, std::string_view name) {
  return std::find(features.begin(), features.end(), name) != features.end();
}

bool Uses(const Graph& graph, const Feature& feature) {
  if (feature.of_graph != nullptr && feature.of_graph(graph)) {
    return true;
  }
  return feature.of_param != nullptr
             ? std::any_of(graph.params.begin(), graph.params.end(), feature.of_param)
             : std::any_of(graph.kernels.begin(), graph.kernels.end(), feature.of_kernel);
}

Status NotListed(std::string_view name, const std::string& user) {
  return Fail(ETC_ERROR_MANIFEST, "`features` does not list `", name, "`, which ", user, " uses");
}

}  // namespace

Status CheckFeaturesKnown(const std::vector<std::string>& features) {
  for (const std::string& name : features) {
    if (name != kDebugChecks && name != kWatchdog && name != kImages &&
        std::none_of(std::begin(kFeatures), std::end(kFeatures),
                     [&](const Feature& feature) { return feature.name == name; })) {
      return Fail(ETC_ERROR_MANIFEST, "needs the feature `", Shown(name),
                  "`, which this library does not have");
    }
  }
  return {};
}

Status CheckFeaturesListed(const manifest::Manifest& manifest) {
  for (const Feature& feature : kFeatures) {
    for (const Graph& graph : manifest.graphs) {
      if (Uses(graph, feature) && !Lists(manifest.features, feature.name)) {
        return NotListed(feature.name, Cat("graph `", graph.name, "`"));
      }
    }
  }
  if (!manifest.binary.images.empty() && !Lists(manifest.features, kImages)) {
    return NotListed(kImages, "the binary");
  }
  if (manifest.watchdog && !Lists(manifest.features, kWatchdog)) {
    return NotListed(kWatchdog, "the program");
  }
  return manifest.debug_checks && !Lists(manifest.features, kDebugChecks)
             ? NotListed(kDebugChecks, "the program")
             : Status{};
}

}  // namespace etc::runtime
