#include "runtime/param_reader.h"

#include <utility>

#include "runtime/dtype.h"
#include "runtime/expr_reader.h"
#include "runtime/names.h"
#include "runtime/parts.h"
#include "runtime/symmetric_memory.h"

namespace etc::runtime {
namespace {

using manifest::Expr;
using manifest::Param;

constexpr size_t kMaxRank = 16;
constexpr int64_t kMaxTile = 1 << 20;
constexpr int64_t kMaxOfArray = 4096;
constexpr int64_t kMaxAlignment = int64_t{1} << 30;

Status ReadAccess(const JsonObject& object, etc_access* access) {
  const JsonValue* value = nullptr;
  std::string text;
  ETC_RETURN_IF_BAD(object.Need("access", &value));
  ETC_RETURN_IF_BAD(Read(*value, &text));
  for (const auto& [spelling, meant] :
       {std::pair("in", ETC_IN), std::pair("out", ETC_OUT), std::pair("inout", ETC_INOUT)}) {
    if (text == spelling) {
      *access = meant;
      return {};
    }
  }
  return Bad(*value, Cat("is `", Shown(text), "`, but must be `in`, `out` or `inout`"));
}

Status ReadDType(const JsonObject& object, etc_dtype* dtype) {
  const JsonValue* value = nullptr;
  std::string text;
  ETC_RETURN_IF_BAD(object.Need("dtype", &value));
  ETC_RETURN_IF_BAD(Read(*value, &text));
  const DTypeInfo* info = FindDType(text);
  if (info == nullptr) {
    return Bad(*value, Cat("is `", Shown(text), "`, which is no dtype"));
  }
  *dtype = info->dtype;
  return {};
}

Status ReadShape(const JsonObject& object, const manifest::Graph& graph, Param* param) {
  const JsonValue* shape = nullptr;
  ETC_RETURN_IF_BAD(object.Need("shape", &shape));
  ETC_RETURN_IF_BAD(ReadEach(*shape, [&](const JsonValue& extent) {
    return ReadExpr(extent, graph, 0, INT64_MAX, &param->shape.emplace_back());
  }));
  return param->shape.size() <= kMaxRank ? Status{}
                                         : Bad(*shape, Cat("has more than ", kMaxRank, " extents"));
}

Status ReadAlignment(const JsonObject& object, Param* param) {
  const JsonValue* value = nullptr;
  ETC_RETURN_IF_BAD(object.Need("alignment", &value));
  ETC_RETURN_IF_BAD(ReadWithin(*value, 1, kMaxAlignment, &param->alignment));
  return (param->alignment & (param->alignment - 1)) == 0
             ? Status{}
             : Bad(*value, Cat("is ", param->alignment, ", which is no power of two"));
}

Status ReadArray(const JsonObject& object, Param* param) {
  const JsonValue* value = object.Find("array");
  if (value == nullptr) {
    return {};
  }
  ETC_RETURN_IF_BAD(Read(*value, &param->array));
  if (!param->array) {
    return {};
  }
  const bool has_count = !param->shape.empty() && param->shape[0].kind == Expr::Kind::Int;
  return has_count && param->shape[0].value >= 1 && param->shape[0].value <= kMaxOfArray
             ? Status{}
             : Bad(*value, Cat("is given, but the first extent is no number in 1..", kMaxOfArray));
}

bool IsInteger(etc_dtype dtype) {
  switch (dtype) {
    case ETC_I64:
    case ETC_I32:
    case ETC_U32:
    case ETC_U16:
    case ETC_U8:
    case ETC_I8:
      return true;
    default:
      return false;
  }
}

/// A precondition of all elements together.
Status ReadPrecondition(const JsonObject& object, const char* key, const Param& param,
                        bool* promised) {
  const JsonValue* value = object.Find(key);
  if (value == nullptr) {
    return {};
  }
  ETC_RETURN_IF_BAD(Read(*value, promised));
  return !*promised || (IsInteger(param.dtype) && !param.shape.empty())
             ? Status{}
             : Bad(*value, "is given, but only integer tensors with extents have it");
}

Status ReadValueRange(const JsonObject& object, const manifest::Graph& graph, Param* param) {
  const JsonValue* min = object.Find("value_min");
  const JsonValue* max = object.Find("value_max");
  if (min == nullptr && max == nullptr) {
    return {};
  }
  ETC_RETURN_IF_BAD(object.Need("value_min", &min));
  ETC_RETURN_IF_BAD(object.Need("value_max", &max));
  manifest::ValueRange range;
  ETC_RETURN_IF_BAD(ReadExpr(*min, graph, INT64_MIN, INT64_MAX, &range.min));
  ETC_RETURN_IF_BAD(ReadExpr(*max, graph, INT64_MIN, INT64_MAX, &range.max));
  if (!IsInteger(param->dtype)) {
    return Bad(*min, "is given, but only integer tensors have a value range");
  }
  param->values = std::move(range);
  return {};
}

Status ReadSwizzle(const JsonObject& layout, const Param& param, manifest::Tile* tile) {
  const JsonValue* value = layout.Find("swizzle");
  if (value == nullptr) {
    return {};
  }
  ETC_RETURN_IF_BAD(Read(*value, &tile->swizzle));
  const int64_t line = tile->columns * FindDType(param.dtype)->bytes;
  if (tile->swizzle && (tile->rows % 8 != 0 || (line != 32 && line != 64 && line != 128))) {
    return Bad(*value, Cat("is given, but the tile has ", tile->rows, " rows of ", line, " bytes"));
  }
  return {};
}

Status ReadTile(const JsonObject& layout, Param* param) {
  const JsonValue* value = nullptr;
  std::vector<int64_t> sizes;
  ETC_RETURN_IF_BAD(layout.Need("tile", &value));
  ETC_RETURN_IF_BAD(ReadEach(*value, [&](const JsonValue& size) {
    return ReadWithin(size, 1, kMaxTile, &sizes.emplace_back());
  }));
  if (sizes.size() != 2) {
    return Bad(*value, Cat("has ", sizes.size(), " sizes, but must have 2"));
  }
  const size_t rank = param->shape.size();
  if (rank < (param->array ? 3 : 2)) {
    return Bad(*value, Cat("is given, but the parameter has ", rank, " extents"));
  }
  for (size_t i = 0; i < 2; ++i) {
    const Expr& extent = param->shape[rank - 2 + i];
    if (extent.kind == Expr::Kind::Int && extent.value % sizes[i] != 0) {
      return Bad(*value, Cat("has ", sizes[i], ", which does not divide extent ", rank - 2 + i,
                             ", ", extent.value));
    }
  }
  param->tile = manifest::Tile{sizes[0], sizes[1], false};
  return {};
}

Status ReadLayout(const JsonObject& object, Param* param) {
  if (object.Find("layout") == nullptr) {
    return {};
  }
  JsonObject layout;
  ETC_RETURN_IF_BAD(object.GetObject("layout", &layout));
  ETC_RETURN_IF_BAD(ReadTile(layout, param));
  ETC_RETURN_IF_BAD(ReadSwizzle(layout, *param, &*param->tile));
  return layout.CheckKeys();
}

Status ReadRange(const JsonValue& value, std::optional<manifest::Source::Range>* range) {
  if (value.kind == JsonValue::Kind::Null) {
    return {};
  }
  std::vector<int64_t> bounds;
  ETC_RETURN_IF_BAD(ReadEach(value, [&](const JsonValue& bound) {
    const int64_t least = bounds.empty() ? 0 : bounds.back();
    return ReadWithin(bound, least, INT64_MAX, &bounds.emplace_back());
  }));
  if (bounds.size() == 1) {
    *range = {0, bounds[0], bounds[0], true};
  } else if (bounds.size() == 3) {
    *range = {bounds[0], bounds[1], bounds[2], false};
  } else {
    return Bad(value, Cat("has ", bounds.size(), " numbers, but must have 1 or 3"));
  }
  return {};
}

/// A name, or `{"name": …, "ranges": [[0, 8, 24], null]}`, of which a single number is padded.
Status ReadSource(const JsonValue& value, manifest::Source* source) {
  if (value.kind != JsonValue::Kind::Object) {
    return Read(value, &source->name);
  }
  JsonObject object;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, &object));
  ETC_RETURN_IF_BAD(object.Get("name", &source->name));
  ETC_RETURN_IF_BAD(object.ForEach("ranges", [&](const JsonValue& range) {
    return ReadRange(range, &source->ranges.emplace_back());
  }));
  return object.CheckKeys();
}

Status ReadSources(const JsonObject& object, Param* param) {
  const JsonValue* value = object.Find("sources");
  if (value == nullptr) {
    return {};
  }
  ETC_RETURN_IF_BAD(ReadEach(*value, [&](const JsonValue& source) -> Status {
    manifest::Source& read = param->sources.emplace_back();
    ETC_RETURN_IF_BAD(ReadSource(source, &read));
    return read.ranges.size() <= param->shape.size()
               ? Status{}
               : Bad(source, Cat("has ", read.ranges.size(), " ranges, but the parameter has ",
                                 param->shape.size(), " extents"));
  }));
  return param->access == ETC_IN ? Status{} : Bad(*value, "is given, but the parameter is written");
}

Status ReadShard(const JsonObject& object, const manifest::Graph& graph, Param* param) {
  const JsonValue* value = object.Find("shard");
  if (value == nullptr) {
    return {};
  }
  const auto rank = static_cast<int64_t>(param->shape.size());
  ETC_RETURN_IF_BAD(ReadWithin(*value, 0, rank - 1, &param->shard.emplace()));
  return graph.mesh ? Status{} : Bad(*value, "is given, but the graph has no `mesh`");
}

Status ReadParts(const JsonObject& object, const manifest::Graph& graph, Param* param) {
  const JsonValue* value = object.Find("shard_parts");
  if (value == nullptr) {
    return {};
  }
  if (!param->shard) {
    return Bad(*value, "is given, but the parameter has no `shard`");
  }
  ETC_RETURN_IF_BAD(ReadExpr(*value, graph, 1, kMostRanks, &param->parts.emplace()));
  for (const int64_t ranks : graph.mesh->values) {
    int64_t parts = 0;
    if (Status status = CountParts(graph, *param, ranks, &parts); !status.Ok()) {
      return Bad(*value, Cat("is wrong: ", status.message));
    }
  }
  return {};
}

}  // namespace

Status ReadParam(const JsonValue& value, manifest::Graph* graph) {
  JsonObject object;
  Param param;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, &object));
  ETC_RETURN_IF_BAD(ReadNewName(object, graph->params, &param.name));
  ETC_RETURN_IF_BAD(ReadAccess(object, &param.access));
  ETC_RETURN_IF_BAD(ReadDType(object, &param.dtype));
  ETC_RETURN_IF_BAD(ReadShape(object, *graph, &param));
  ETC_RETURN_IF_BAD(ReadArray(object, &param));
  ETC_RETURN_IF_BAD(ReadAlignment(object, &param));
  ETC_RETURN_IF_BAD(ReadValueRange(object, *graph, &param));
  ETC_RETURN_IF_BAD(ReadPrecondition(object, "distinct", param, &param.distinct));
  ETC_RETURN_IF_BAD(ReadPrecondition(object, "monotone", param, &param.monotone));
  ETC_RETURN_IF_BAD(ReadLayout(object, &param));
  ETC_RETURN_IF_BAD(ReadSources(object, &param));
  ETC_RETURN_IF_BAD(ReadShard(object, *graph, &param));
  ETC_RETURN_IF_BAD(ReadParts(object, *graph, &param));
  ETC_RETURN_IF_BAD(object.CheckKeys());
  graph->params.push_back(std::move(param));
  return {};
}

}  // namespace etc::runtime
