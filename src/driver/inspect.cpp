// `etc inspect`: what an artifact holds, as text or as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "driver/commands.h"
#include "report/artifact_view.h"
#include "report/weights_view.h"
#include "runtime/manifest_expr.h"
#include "support/assignments.h"
#include "support/files.h"

namespace etc {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAccess[] = {"in", "out", "inout"};

class Inspection {
 public:
  Inspection(const ArtifactView& view, std::map<std::string, int64_t> dims, std::string graph,
             Diagnostics& diagnostics)
      : view_(view),
        manifest_(view.manifest),
        dims_(std::move(dims)),
        only_(std::move(graph)),
        diagnostics_(diagnostics) {}

  /// Reports names that the artifact does not have, and sizes that none of its launches can have.
  bool CheckArguments() const {
    std::vector<std::string> graphs;
    std::vector<std::string> dims;
    bool sizes_ok = true;
    for (const manifest::Graph& graph : manifest_.graphs) {
      graphs.push_back(graph.name);
      for (const manifest::Dim& dim : graph.dims) {
        // A dimension has one range in all graphs.
        if (std::find(dims.begin(), dims.end(), dim.name) == dims.end()) {
          dims.push_back(dim.name);
          sizes_ok &= CheckSize(dim, dims_, diagnostics_);
        }
      }
    }
    bool graph_ok = only_.empty() || CheckName(only_, "--graph", "graph", graphs, diagnostics_);
    bool dims_ok = CheckNames(dims_, "--dim", "dimension", dims, diagnostics_);
    return graph_ok && dims_ok && sizes_ok;
  }

  std::string Text() const {
    std::string text;
    text += fmt::format("target     {}\n", manifest_.target);
    const manifest::Binary& binary = manifest_.binary;
    text +=
        fmt::format("binary     {}, {} bytes{}, xxh3-128 {}: {}\n", binary.file, binary.bytes,
                    binary.images.empty() ? "" : fmt::format(" in {} images", binary.images.size()),
                    binary.xxh3_128, StateText());
    text += fmt::format("producer   etc {}, {} {}\n", manifest_.producer.etc,
                        manifest_.producer.toolchain, fmt::join(manifest_.producer.flags, " "));
    if (manifest_.debug_checks) {
      text += fmt::format("checks     {} of what launches are promised\n",
                          manifest_.debug_checks->size());
    }
    if (manifest_.watchdog) {
      text += fmt::format("watchdog   of {} waits\n", manifest_.watchdog->size());
    }
    for (const manifest::Constant& constant : manifest_.constants) {
      text += fmt::format("constant   {} = {}\n", constant.name, ToJson(constant).dump());
    }
    for (const manifest::Graph& graph : manifest_.graphs) {
      text += IsShown(graph) ? Text(graph) : "";
    }
    return text;
  }

  /// What the checkpoint has of the parameters, instead of what the artifact holds.
  std::string WeightsOf(const runtime::Checkpoint& checkpoint, const std::string& prefix) const {
    std::string text;
    for (const manifest::Graph& graph : manifest_.graphs) {
      text += IsShown(graph) ? WeightsText(graph, checkpoint, prefix, diagnostics_) : "";
    }
    return text;
  }

  std::string JsonText() const {
    Json graphs = Json::array();
    for (const manifest::Graph& graph : manifest_.graphs) {
      if (IsShown(graph)) {
        graphs.push_back(ToJson(graph));
      }
    }
    Json constants = Json::object();
    for (const manifest::Constant& constant : manifest_.constants) {
      constants[constant.name] = ToJson(constant);
    }
    Json binary = {{"file", manifest_.binary.file},
                   {"bytes", manifest_.binary.bytes},
                   {"xxh3_128", manifest_.binary.xxh3_128},
                   {"state", StateText()}};
    if (!manifest_.binary.images.empty()) {
      binary["images"] = manifest_.binary.images;
    }
    Json json = {{"schema", 1},
                 {"manifest", view_.manifest_path},
                 {"target", manifest_.target},
                 {"binary", std::move(binary)},
                 {"producer",
                  {{"etc", manifest_.producer.etc},
                   {"toolchain", manifest_.producer.toolchain},
                   {"flags", manifest_.producer.flags}}},
                 {"constants", constants},
                 {"graphs", graphs}};
    if (manifest_.debug_checks) {
      json["debug_checks"] = *manifest_.debug_checks;
    }
    if (manifest_.watchdog) {
      json["watchdog"] = *manifest_.watchdog;
    }
    return json.dump(2) + "\n";
  }

 private:
  bool IsShown(const manifest::Graph& graph) const { return only_.empty() || graph.name == only_; }

  std::string StateText() const {
    switch (view_.binary_state) {
      case BinaryState::Ok:
        return "ok";
      case BinaryState::Mismatch:
        return "mismatch";
      case BinaryState::Missing:
        break;
    }
    return "missing";
  }

  static Json ToJson(const manifest::Constant& constant) {
    const auto* number = std::get_if<double>(&constant.value);
    if (number != nullptr && std::isinf(*number)) {
      return *number > 0 ? "inf" : "-inf";
    }
    return std::visit([](auto value) { return Json(value); }, constant.value);
  }

  static std::string SourcesText(const manifest::Param& param) {
    std::string text;
    for (const manifest::Source& source : param.sources) {
      text += fmt::format(" {} \"{}\"{}", text.empty() ? "from" : "or", source.name,
                          runtime::RangesText(source));
    }
    return text;
  }

  /// As in the manifest.
  static Json SourcesJson(const manifest::Param& param) {
    Json json = Json::array();
    for (const manifest::Source& source : param.sources) {
      if (source.ranges.empty()) {
        json.push_back(source.name);
        continue;
      }
      Json ranges = Json::array();
      for (const auto& range : source.ranges) {
        ranges.push_back(!range             ? Json()
                         : range->is_padded ? Json::array({range->extent})
                                            : Json{range->first, range->end, range->extent});
      }
      json.push_back({{"name", source.name}, {"ranges", std::move(ranges)}});
    }
    return json;
  }

  std::string Text(const manifest::Graph& graph) const {
    std::string text = fmt::format("graph @{}\n", graph.name);
    for (const manifest::Dim& dim : graph.dims) {
      text += fmt::format("  dim {} in {}..{}{}\n", dim.name, dim.min, dim.max,
                          dim.multiple == 1 ? "" : fmt::format(" multiple {}", dim.multiple));
    }
    for (const manifest::Requirement& requirement : graph.requirements) {
      text += fmt::format("  require {}\n", requirement.text);
    }
    for (const manifest::Param& param : graph.params) {
      std::string values = ValuesText(graph, param);
      std::string layout = LayoutText(param);
      text += fmt::format("  {:<5} %{}: {}{}{}{}{}\n", kAccess[param.access], param.name,
                          TypeText(graph, param), layout.empty() ? "" : " layout " + layout,
                          values.empty() ? "" : ", values " + values, ShardText(graph, param),
                          SourcesText(param));
    }
    for (const manifest::Kernel& kernel : graph.kernels) {
      std::string where = WhereText(graph, kernel);
      auto needs = NeedsOf(graph, kernel, dims_, diagnostics_);
      text += fmt::format("  kernel {}: {}{}, {} threads, {} bytes of shared memory\n",
                          EntryText(kernel, needs ? needs->dims : std::vector<int64_t>()),
                          kernel.schedule, where.empty() ? "" : " where " + where, kernel.threads,
                          kernel.shared_bytes);
      if (needs) {
        text += fmt::format("    {}parameters {} bytes, workspace {} bytes, {} event counters\n",
                            SizesText(graph, *needs), needs->param_bytes, needs->workspace_bytes,
                            needs->event_counters);
      } else {
        text += "    not for these sizes\n";
      }
    }
    return text;
  }

  /// "etc_decode", or "171 launches of 10 entries": their number is that of these sizes.
  static std::string EntryText(const manifest::Kernel& kernel, const std::vector<int64_t>& dims) {
    if (!kernel.entry.empty()) {
      return kernel.entry;
    }
    std::optional<int64_t> launches = 0;
    size_t entries = 0;
    Count(kernel.launches, dims, 1, launches, entries);
    return fmt::format("{}launches of {} entries", launches ? fmt::format("{} ", *launches) : "",
                       entries);
  }

  /// Nothing where sizes decide it that are not known.
  static std::optional<int64_t> Value(const manifest::Expr& expr,
                                      const std::vector<int64_t>& dims) {
    int64_t value = 0;
    bool known = !dims.empty() || !runtime::NamesDim(expr);
    return known && runtime::Evaluate(expr, dims, &value).Ok() ? std::optional(value)
                                                               : std::nullopt;
  }

  static void Count(const std::vector<manifest::Launch>& block, const std::vector<int64_t>& dims,
                    std::optional<int64_t> times, std::optional<int64_t>& launches,
                    size_t& entries) {
    for (const manifest::Launch& launch : block) {
      if (launch.is_repeat) {
        auto begin = Value(launch.begin, dims);
        auto end = Value(launch.end, dims);
        bool known = times && begin && end;
        Count(launch.launches, dims, known ? std::optional(*times * (*end - *begin)) : std::nullopt,
              launches, entries);
      } else {
        launches = launches && times ? std::optional(*launches + *times) : std::nullopt;
        ++entries;
      }
    }
  }

  static Json Entries(const manifest::Graph& graph, const manifest::Kernel& kernel) {
    return kernel.entry.empty() ? Entries(graph, kernel.launches) : Json(kernel.entry);
  }

  static Json Entries(const manifest::Graph& graph, const std::vector<manifest::Launch>& block) {
    Json out = Json::array();
    for (const manifest::Launch& launch : block) {
      out.push_back(launch.is_repeat ? Json{{"repeat", Json::array({ToJson(graph, launch.begin),
                                                                    ToJson(graph, launch.end)})},
                                            {"launches", Entries(graph, launch.launches)}}
                                     : Json(launch.entry));
    }
    return out;
  }

  static std::string SizesText(const manifest::Graph& graph, const KernelNeeds& needs) {
    std::string text;
    for (size_t i = 0; i < graph.dims.size(); ++i) {
      text +=
          fmt::format("{}{} = {}", text.empty() ? "at " : ", ", graph.dims[i].name, needs.dims[i]);
    }
    return text.empty() ? "" : text + ": ";
  }

  Json ToJson(const manifest::Graph& graph) const {
    Json dims = Json::array();
    for (const manifest::Dim& dim : graph.dims) {
      dims.push_back(
          {{"name", dim.name}, {"min", dim.min}, {"max", dim.max}, {"multiple", dim.multiple}});
    }
    Json params = Json::array();
    for (const manifest::Param& param : graph.params) {
      Json json = {{"name", param.name},
                   {"access", kAccess[param.access]},
                   {"dtype", etc_dtype_name(param.dtype)},
                   {"shape", Json::array()},
                   {"alignment", param.alignment}};
      for (const manifest::Expr& extent : param.shape) {
        json["shape"].push_back(ToJson(graph, extent));
      }
      if (param.array) {
        json["array"] = true;
      }
      if (param.tile) {
        json["layout"] = {{"tile", {param.tile->rows, param.tile->columns}},
                          {"swizzle", param.tile->swizzle}};
      }
      if (param.values) {
        json["values"] = {{"min", ToJson(graph, param.values->min)},
                          {"max", ToJson(graph, param.values->max)}};
      }
      json["distinct"] = param.distinct;
      json["monotone"] = param.monotone;
      if (param.shard) {
        json["shard"] = *param.shard;
      }
      if (param.parts) {
        json["shard_parts"] = ToJson(graph, *param.parts);
      }
      if (!param.sources.empty()) {
        json["sources"] = SourcesJson(param);
      }
      params.push_back(std::move(json));
    }
    Json kernels = Json::array();
    for (const manifest::Kernel& kernel : graph.kernels) {
      kernels.push_back(ToJson(graph, kernel));
    }
    return {{"name", graph.name},
            {"dims", dims},
            {"requirements", Texts(graph.requirements)},
            {"params", params},
            {"kernels", kernels}};
  }

  /// A number, or the text of an expression over dimensions.
  static Json ToJson(const manifest::Graph& graph, const manifest::Expr& expr) {
    return expr.kind == manifest::Expr::Kind::Int ? Json(expr.value)
                                                  : Json(runtime::ToText(expr, graph.dims));
  }

  static Json Texts(const std::vector<manifest::Requirement>& requirements) {
    Json out = Json::array();
    for (const manifest::Requirement& requirement : requirements) {
      out.push_back(requirement.text);
    }
    return out;
  }

  Json ToJson(const manifest::Graph& graph, const manifest::Kernel& kernel) const {
    Json json = {{kernel.entry.empty() ? "launches" : "entry", Entries(graph, kernel)},
                 {"schedule", kernel.schedule},
                 {"where", Json::array()},
                 {"requirements", Texts(kernel.requirements)},
                 {"threads", kernel.threads},
                 {"shared_bytes", kernel.shared_bytes}};
    for (const manifest::Where& where : kernel.where) {
      json["where"].push_back({{"dim", graph.dims[static_cast<size_t>(where.dim)].name},
                               {"min", where.min},
                               {"max", where.max}});
    }
    if (auto needs = NeedsOf(graph, kernel, dims_, diagnostics_)) {
      Json sizes = Json::object();
      for (size_t i = 0; i < graph.dims.size(); ++i) {
        sizes[graph.dims[i].name] = needs->dims[i];
      }
      json["needs"] = {{"at", sizes},
                       {"param_bytes", needs->param_bytes},
                       {"workspace_bytes", needs->workspace_bytes},
                       {"event_counters", needs->event_counters}};
    }
    return json;
  }

  const ArtifactView& view_;
  const manifest::Manifest& manifest_;
  std::map<std::string, int64_t> dims_;
  std::string only_;
  Diagnostics& diagnostics_;
};

}  // namespace

ExitCode Execute(const InspectOptions& options) {
  Session session(options.diagnostics);
  auto dims = ParseIntAssignments(options.dims, "--dim", session.diagnostics());
  auto view = dims ? ViewArtifact(options.file, session.diagnostics()) : std::nullopt;
  if (view) {
    Inspection inspection(*view, *dims, options.graph, session.diagnostics());
    runtime::Checkpoint checkpoint;
    if (!inspection.CheckArguments() ||
        (!options.weights.empty() &&
         !OpenCheckpoint(options.weights, checkpoint, session.diagnostics()))) {
      return session.Finish();
    }
    (void)WriteStdout(!options.weights.empty()
                          ? inspection.WeightsOf(checkpoint, options.weights_prefix)
                      : options.json ? inspection.JsonText()
                                     : inspection.Text(),
                      session.diagnostics());
  }
  return session.Finish();
}

}  // namespace etc
