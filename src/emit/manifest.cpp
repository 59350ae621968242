// The manifest; docs/runtime.md has its schema. The compiler's only use of JSON but for reading a
// model's configuration.

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "emit/emit.h"
#include "emit/entries.h"
#include "emit/json_text.h"
#include "emit/manifest_expr.h"
#include "emit/raise/raise.h"
#include "ir/printer.h"
#include "ir/requirements.h"
#include "ir/shard.h"
#include "ir/walk.h"
#include "ir/weight_sources.h"

namespace etc {
namespace {

constexpr int kCheckTasks = 4096;  // any number: a launch has one CTA for each SM at most

/// JSON has no number that is not finite.
Json Number(double value) {
  return std::isfinite(value) ? Json(value)
         : std::isnan(value)  ? Json("nan")
                              : Json(value > 0 ? "inf" : "-inf");
}

class ManifestWriter {
 public:
  ManifestWriter(const RaisedModule& raised, const Locate& locate)
      : raised_(raised), module_(raised.module), locate_(locate), sizes_(raised.module) {}

  Json Constants() const {
    Json out = Json::object();
    for (const Item& item : module_.items) {
      const auto* id = std::get_if<SymbolId>(&item);
      if (id == nullptr || module_.symbols[*id].kind != SymbolKind::Const) {
        continue;
      }
      const Symbol& symbol = module_.symbols[*id];
      switch (KindOf(module_, symbol.value)) {
        case ValueKind::Int:
          out[symbol.name] = EvaluateInt(module_, symbol.value, {}).value();
          break;
        case ValueKind::Bool:
          out[symbol.name] = EvaluateBool(module_, symbol.value, {}).value();
          break;
        default:
          out[symbol.name] = Number(EvaluateFloat(module_, symbol.value, {}).value());
      }
    }
    return out;
  }

  /// One entry for each graph; its kernels are those made of it.
  Json Graphs() {
    Json out = Json::array();
    for (const RaisedKernel& kernel : raised_.kernels) {
      bool same = !out.empty() && out.back()["name"] == kernel.kernel.graph;
      if (!same) {
        out.push_back({{"name", kernel.kernel.graph},
                       {"dims", Dims(kernel)},
                       {"params", Params(kernel)},
                       {"kernels", Json::array()}});
        AddRequirements(kernel, false, sizes_, out.back());
        if (module_.mesh) {
          features_.insert("ranks");
          out.back()["mesh"] = {{"size", module_.symbols[module_.mesh->size].name},
                                {"values", module_.mesh->values}};
        }
      }
      out.back()["kernels"].push_back(KernelEntry(kernel));
    }
    return out;
  }

  /// What of the schema the graphs use that not every program does. A reader refuses a name that it
  /// does not know: each new key that changes what the others mean needs one.
  const std::set<std::string>& Features() const { return features_; }

 private:
  /// Whether ranks share parts of the parameter, at some number of them.
  bool HasSharedParts(const Tensor& tensor) const {
    return tensor.in_parts &&
           !std::all_of(module_.mesh->values.begin(), module_.mesh->values.end(),
                        [&](int64_t ranks) { return PartsAt(module_, tensor, ranks) == ranks; });
  }

  Json Dims(const RaisedKernel& kernel) const {
    Json out = Json::array();
    for (SymbolId id : kernel.dims) {
      const Symbol& symbol = module_.symbols[id];
      out.push_back(
          {{"name", symbol.name},
           {"min", EvaluateInt(module_, symbol.lo, {}).value()},
           {"max", EvaluateInt(module_, symbol.hi, {}).value()},
           {"multiple", symbol.multiple ? EvaluateInt(module_, symbol.multiple, {}).value() : 1}});
    }
    return out;
  }

  /// What the graph's launches must fulfil: of all sizes, or of those in the ranges of the kernel.
  void AddRequirements(const RaisedKernel& kernel, bool in_ranges, const ManifestExprs& sizes,
                       Json& to) {
    const std::vector<SymbolId>& known = kernel.dims;
    for (ExprId condition : LaunchRequirements(module_)) {
      std::vector<SymbolId> dims = DimsIn(module_, condition);
      bool is_known = std::find(known.begin(), known.end(), dims.front()) != known.end();
      if (is_known && DependsOnRange(module_, condition) == in_ranges) {
        features_.insert("requirements");
        to["requirements"].push_back(
            {{"text", Print(module_, condition)}, {"holds", sizes.Condition(condition)}});
      }
    }
  }

  Json Sources(const Tensor& tensor) {
    features_.insert("sources");
    Json out = Json::array();
    for (const WeightSource& source : tensor.sources) {
      Json ranges = Json::array();
      for (const AxisRange& range : source.ranges) {
        ranges.push_back(Bounds(tensor, source, range));
      }
      if (std::all_of(ranges.begin(), ranges.end(),
                      [](const Json& bounds) { return bounds.is_null(); })) {
        out.push_back(source.name);
        continue;
      }
      features_.insert("source_ranges");
      out.push_back({{"name", source.name}, {"ranges", std::move(ranges)}});
    }
    return out;
  }

  /// Null where all is taken, and nothing is padded.
  Json Bounds(const Tensor& tensor, const WeightSource& source, const AxisRange& range) {
    Json bounds;
    for (ExprId bound : {range.lo, range.hi, range.extent}) {
      if (bound) {
        bounds.push_back(EvaluateInt(module_, bound, {}).value());
      }
    }
    if (bounds.size() == 1) {
      if (bounds[0] == WholeExtentOf(module_, tensor, PlacesOf(source.name)->size())) {
        return {};
      }
      features_.insert("padded_sources");
    }
    return bounds;
  }

  Json Params(const RaisedKernel& kernel) {
    Json out = Json::array();
    for (TensorId id : kernel.kernel.params) {
      const Tensor& tensor = module_.tensors[id];
      Json shape = Json::array();
      for (ExprId extent : tensor.shape) {
        shape.push_back(sizes_.Expr(extent));
      }
      const char* access = tensor.access == Access::In    ? "in"
                           : tensor.access == Access::Out ? "out"
                                                          : "inout";
      Json param = {{"name", tensor.name},
                    {"access", access},
                    {"dtype", Spelling(tensor.type)},
                    {"shape", shape},
                    {"alignment", 16}};
      if (tensor.array) {
        features_.insert("arrays");
        param["array"] = true;
      }
      if (!tensor.tile.empty()) {
        features_.insert("tiles");
        param["layout"] = {{"tile", kernel.tensors.at(id).tile}};
        if (tensor.swizzled) {
          features_.insert("swizzle");
          param["layout"]["swizzle"] = true;
        }
      }
      if (tensor.value_lo && IsUniform(module_, tensor)) {
        features_.insert("value_ranges");
        param["value_min"] = sizes_.Expr(tensor.value_lo);
        param["value_max"] = Folded("-", sizes_.Expr(tensor.value_hi), 1);  // inclusive
      }
      if (tensor.shard) {
        param["shard"] = *tensor.shard;
        if (HasSharedParts(tensor)) {
          features_.insert("shared_parts");
          param["shard_parts"] = sizes_.Expr(PartsOf(module_, tensor));
        }
      }
      if (tensor.distinct) {
        features_.insert("distinct");
        param["distinct"] = true;
      }
      if (tensor.monotone) {
        features_.insert("monotone");
        param["monotone"] = true;
      }
      if (!tensor.sources.empty()) {
        param["sources"] = Sources(tensor);
      }
      out.push_back(std::move(param));
    }
    return out;
  }

  Json KernelEntry(const RaisedKernel& raised) {
    const Kernel& kernel = raised.kernel;
    const ManifestExprs sizes(module_, RangesOf(module_, kernel));
    Json where = Json::array();
    for (const Where& range : kernel.where) {
      features_.insert("where");
      where.push_back({{"dim", module_.symbols[range.dim].name},
                       {"min", EvaluateInt(module_, range.lo, {}).value()},
                       {"max", EvaluateInt(module_, range.hi, {}).value()}});
    }
    Json workspace = 0;
    for (const RaisedPlace& buffer : raised.buffers) {
      workspace = Folded("max", workspace, sizes.EndOf(buffer));
    }
    Json counters = raised.last_counters ? sizes.EndOf(*raised.last_counters) : Json(0);
    bool launches = kernel.schedule == ScheduleKind::Kernels;
    if (launches) {
      features_.insert("launches");
    }
    size_t next = 0;
    Json entries = launches ? Launches(raised, sizes, kernel.body, next) : Json(EntryName(kernel));
    if (launches && HasChecks(kernel)) {
      entries.insert(entries.begin(),
                     Json{{"entry", CheckName(module_, kernel)}, {"tasks", kCheckTasks}});
    }
    Json entry = {{launches ? "launches" : "entry", entries},
                  {"schedule", Spelling(kernel.schedule)},
                  {"where", where},
                  {"threads", ThreadsOf(kernel.consumer_warps)},
                  {"shared_bytes", kernel.shared_bytes},
                  {"workspace_bytes", Balanced(workspace)},
                  {"event_counters", Balanced(counters)}};
    if (module_.mesh) {
      Json symmetric = 0;
      for (const RaisedPlace& buffer : raised.symmetric) {
        symmetric = Folded("max", symmetric, sizes.EndOf(buffer));
      }
      entry["symmetric_bytes"] = Balanced(symmetric);
    }
    if (!raised.maps.empty()) {
      features_.insert("tensor_maps");
      for (const RaisedMap& map : raised.maps) {
        entry["tensor_maps"].push_back(TensorMap(map, sizes));
      }
    }
    if (kernel.profile) {
      features_.insert("profile");
      entry["profile"] = Profile(raised, sizes);
    }
    AddRequirements(raised, true, sizes, entry);
    return entry;
  }

  /// Where a tensor is, its shape with the axes in front of the last two as one, and a box of it. A
  /// row of tiles is one piece of memory, so of a tensor in tiles these are its rows, in words.
  Json TensorMap(const RaisedMap& map, const ManifestExprs& sizes) {
    const Tensor& tensor = module_.tensors[map.tensor];
    Json slices = 1;
    for (size_t axis = 0; axis + 2 < tensor.shape.size(); ++axis) {
      slices = Folded("*", slices, sizes.Expr(tensor.shape[axis]));
    }
    Json place = tensor.kind == TensorKind::Param ? Json{{"param", tensor.name}}
                 : tensor.symmetric               ? Json{{"symmetric", sizes.Expr(tensor.offset)}}
                                                  : Json{{"workspace", sizes.Expr(tensor.offset)}};
    Json rows = sizes.Expr(tensor.shape.end()[-2]), columns = sizes.Expr(tensor.shape.end()[-1]);
    if (tensor.tile.empty()) {
      place["dtype"] = Spelling(tensor.type);
      place["shape"] = Json::array({slices, rows, columns});
      place["box"] = Json::array({map.rows, map.columns});
      return place;
    }
    features_.insert("boxes_of_tiles");
    int64_t tile_rows = *EvaluateInt(module_, tensor.tile[0], {});
    int64_t column_bytes = tile_rows * SizeInBytes(tensor.type);  // of a row of tiles
    constexpr int64_t word = 8;
    place["dtype"] = Spelling(DType::I64);
    place["shape"] = Json::array({slices, Folded("/", rows, tile_rows),
                                  Folded("/", Folded("*", columns, column_bytes), word)});
    place["box"] = Json::array({map.rows / tile_rows, map.columns * column_bytes / word});
    return place;
  }

  /// What the records of a launch say.
  Json Profile(const RaisedKernel& raised, const ManifestExprs& sizes) const {
    constexpr const char* kKinds[] = {"task", "wait", "signal"};
    Json spans = Json::array();
    for (const RaisedSpan& span : raised.spans) {
      Json fields = Json::array();
      for (const RaisedField& field : span.fields) {
        fields.push_back(Json::array({field.name, field.bits}));
      }
      spans.push_back({{"kind", kKinds[static_cast<size_t>(span.kind)]},
                       {"call", span.call},
                       {"text", span.text},
                       {"fields", std::move(fields)},
                       {"source", locate_ ? locate_(span.range) : std::string()}});
    }
    return {{"kernel", "@" + raised.kernel.name},
            {"records", Balanced(sizes.Expr(raised.kernel.profile->spans))},
            {"spans", std::move(spans)}};
  }

  /// The launches of a block in order; `next` is the number of the first. A repeat holds its own.
  Json Launches(const RaisedKernel& kernel, const ManifestExprs& sizes,
                const std::vector<NodeId>& nodes, size_t& next) {
    Json out = Json::array();
    for (NodeId id : nodes) {
      std::visit(
          Overloaded{
              [&](const Repeat& repeat) {
                features_.insert("repeats");
                Json lo = sizes.Expr(repeat.lo), hi = sizes.Expr(repeat.hi);
                if (!lo.is_number() || !hi.is_number()) {
                  features_.insert("repeats_of_sizes");
                }
                out.push_back({{"repeat", Json::array({std::move(lo), std::move(hi)})},
                               {"launches", Launches(kernel, sizes, repeat.body, next)}});
              },
              [&](const Share& share) {
                // Where only the launch knows the number of tasks, all SMs take part.
                const auto& tasks = kernel.launches[next].tasks;
                out.push_back({{"entry", LaunchName(module_, kernel.kernel, next++, share)},
                               {"tasks", tasks ? sizes.ProductOf(*tasks)
                                               : Json(std::numeric_limits<int32_t>::max())}});
              },
              [](const OneOf<BufferDecl, EventDecl> auto&) {},
              [](const OneOf<CallNode, Region> auto&) { ETC_CHECK(!"a graph's node"); },
              [](const Dispatch&) { ETC_CHECK(!"launches are no tasks of a dispatch"); },
          },
          module_.nodes[id]);
    }
    return out;
  }

  const RaisedModule& raised_;
  const Module& module_;
  const Locate& locate_;
  ManifestExprs sizes_;  // of a graph, for all ranges
  std::set<std::string> features_;
};

Json RecordOf(const ManifestProofs& proofs) {
  Json record = Json::object();
  for (const ManifestProofs::Group& group : proofs.groups) {
    record[group.name] = {{"proved", group.proved}, {"not_proved", group.not_proved}};
  }
  record["assumptions"] = proofs.assumptions;
  record["not_proved"] = proofs.not_proved;
  return record;
}

}  // namespace

std::string EmitManifest(const Module& module, const ManifestInfo& info) {
  const RaisedModule raised = Raise(module, info.arch);
  ManifestWriter writer(raised, info.locate);
  Json graphs = writer.Graphs();
  std::set<std::string> features = writer.Features();
  if (info.debug_checks) {
    features.insert("debug_checks");
  }
  if (info.watchdog) {
    features.insert("watchdog");
  }
  Json binary = {
      {"file", info.binary_file}, {"bytes", info.binary_bytes}, {"xxh3_128", info.binary_xxh3_128}};
  if (info.binary_images.size() > 1) {
    features.insert("images");
    binary["images"] = info.binary_images;
  }
  Json manifest = {
      {"etc_manifest", 2},
      {"features", features},
      {"target", Spelling(info.arch)},
      {"binary", std::move(binary)},
      {"producer", {{"etc", ETC_VERSION}, {"toolchain", info.toolchain}, {"flags", info.flags}}},
      {"constants", writer.Constants()},
      {"graphs", std::move(graphs)},
  };
  for (const ManifestResources& kernel : info.resources) {
    for (const auto& [name, number] : kernel.numbers) {
      manifest["resources"][kernel.entry][name] = number;
    }
  }
  if (info.debug_checks) {
    manifest["debug_checks"] = *info.debug_checks;
  }
  if (info.watchdog) {
    manifest["watchdog"] = *info.watchdog;
  }
  if (info.proofs) {
    manifest["proofs"] = RecordOf(*info.proofs);
  }
  if (info.kernel_proofs) {
    manifest["kernel_proofs"] = RecordOf(*info.kernel_proofs);
  }
  return JsonText(manifest);
}

}  // namespace etc
