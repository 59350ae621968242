#include "runtime/graph_reader.h"

#include <algorithm>
#include <utility>

#include "runtime/dtype.h"
#include "runtime/manifest_expr.h"

namespace etc::runtime {
namespace {

using nlohmann::json;

constexpr int kMaxExprDepth = 256;  // deeper than any expression of a source
constexpr int kMaxRepeatDepth = 64;
constexpr int64_t kMaxRank = 16;
constexpr int64_t kMaxTile = 1 << 20;

template <class T>
Status CheckNew(const std::vector<T>& earlier, const std::string& where, const std::string& name) {
  if (name.empty()) {
    return Bad(where, "is empty");
  }
  const bool twice =
      std::any_of(earlier.begin(), earlier.end(), [&](const T& item) { return item.name == name; });
  return twice ? Bad(where, Cat("is `", name, "`, which an earlier element has too")) : Status{};
}

Status FindDim(const manifest::Graph& graph, const std::string& where, const std::string& name,
               int64_t* index) {
  for (size_t i = 0; i < graph.dims.size(); ++i) {
    if (graph.dims[i].name == name) {
      *index = static_cast<int64_t>(i);
      return {};
    }
  }
  return Bad(where, Cat("names `", name, "`, which is no dim of graph `", graph.name, "`"));
}

Status ReadExpr(const json& value, const std::string& where, const manifest::Graph& graph,
                manifest::Expr* expr, int depth = kMaxExprDepth) {
  if (value.is_number()) {
    expr->kind = manifest::Expr::Kind::Int;
    return Read(value, where, &expr->value);
  }
  if (value.is_string()) {
    expr->kind = manifest::Expr::Kind::Dim;
    return FindDim(graph, where, value.get<std::string>(), &expr->value);
  }
  if (!value.is_array()) {
    return WrongKind(where, value, "an expression");
  }
  if (depth == 0) {
    return Bad(where, "is nested too deeply");
  }
  if (value.empty() || !value[0].is_string()) {
    return Bad(where, "is an array that does not begin with an operator");
  }
  const std::string spelling = value[0].get<std::string>();
  const OpInfo* info = FindOp(spelling);
  if (info == nullptr) {
    return Bad(where, Cat("has the unknown operator `", spelling, "`"));
  }
  const int given = static_cast<int>(value.size()) - 1;
  if (given != info->arity) {
    return Bad(where,
               Cat("gives `", spelling, "` ", given, " arguments, but it takes ", info->arity));
  }
  expr->kind = manifest::Expr::Kind::Apply;
  expr->op = info->op;
  expr->args.resize(static_cast<size_t>(given));
  for (size_t i = 0; i < expr->args.size(); ++i) {
    ETC_RETURN_IF_BAD(
        ReadExpr(value[i + 1], Cat(where, "[", i + 1, "]"), graph, &expr->args[i], depth - 1));
  }
  return {};
}

Status ReadExpr(const JsonObject& object, const char* key, const manifest::Graph& graph,
                manifest::Expr* expr) {
  const json* value = nullptr;
  ETC_RETURN_IF_BAD(object.Need(key, &value));
  return ReadExpr(*value, object.At(key), graph, expr);
}

Status ReadDim(const json& value, const std::string& where, manifest::Graph* graph) {
  JsonObject object;
  manifest::Dim dim;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, where, &object));
  ETC_RETURN_IF_BAD(object.Get("name", &dim.name));
  ETC_RETURN_IF_BAD(CheckNew(graph->dims, object.At("name"), dim.name));
  ETC_RETURN_IF_BAD(object.Get("min", &dim.min));
  ETC_RETURN_IF_BAD(object.Get("max", dim.min, INT64_MAX, &dim.max));
  ETC_RETURN_IF_BAD(object.Get("multiple", 1, INT64_MAX, &dim.multiple));
  graph->dims.push_back(std::move(dim));
  return {};
}

Status ReadAccess(const JsonObject& object, etc_access* access) {
  std::string text;
  ETC_RETURN_IF_BAD(object.Get("access", &text));
  for (const auto& [spelling, value] :
       {std::pair("in", ETC_IN), std::pair("out", ETC_OUT), std::pair("inout", ETC_INOUT)}) {
    if (text == spelling) {
      *access = value;
      return {};
    }
  }
  return Bad(object.At("access"), Cat("is `", text, "`, but must be `in`, `out` or `inout`"));
}

bool IsInteger(etc_dtype dtype) { return dtype == ETC_I64 || dtype == ETC_I32 || dtype == ETC_U8; }

/// What is promised of the elements together.
/// A boolean that may be left out.
Status ReadFlag(const JsonObject& object, const char* key, bool* flag) {
  const json* value = object.Find(key);
  if (value == nullptr) {
    return {};
  }
  if (!value->is_boolean()) {
    return Bad(object.At(key), "must be a boolean");
  }
  *flag = value->get<bool>();
  return {};
}

Status ReadPromise(const JsonObject& object, const char* key, const manifest::Param& param,
                   bool* promised) {
  ETC_RETURN_IF_BAD(ReadFlag(object, key, promised));
  return !*promised || (IsInteger(param.dtype) && !param.shape.empty())
             ? Status{}
             : Bad(object.At(key), "is given, but only integer tensors with extents have it");
}

Status ReadValueRange(const JsonObject& object, const manifest::Graph& graph,
                      manifest::Param* param) {
  if (object.Find("value_min") == nullptr && object.Find("value_max") == nullptr) {
    return {};
  }
  manifest::ValueRange range;
  for (auto [key, bound] :
       {std::pair("value_min", &range.min), std::pair("value_max", &range.max)}) {
    ETC_RETURN_IF_BAD(ReadExpr(object, key, graph, bound));
  }
  if (!IsInteger(param->dtype)) {
    return Bad(object.At("value_min"), "is given, but only integer tensors have a value range");
  }
  param->values = range;
  return {};
}

Status ReadSwizzle(const JsonObject& layout, const manifest::Param& param, manifest::Tile* tile) {
  ETC_RETURN_IF_BAD(ReadFlag(layout, "swizzle", &tile->swizzle));
  const int64_t line = tile->columns * FindDType(param.dtype)->bytes;
  if (tile->swizzle && (tile->rows % 8 != 0 || (line != 32 && line != 64 && line != 128))) {
    return Bad(layout.At("swizzle"),
               Cat("is given, but the tile has ", tile->rows, " rows of ", line, " bytes"));
  }
  return {};
}

Status ReadLayout(const JsonObject& param_object, manifest::Param* param) {
  if (param_object.Find("layout") == nullptr) {
    return {};
  }
  JsonObject object;
  std::vector<int64_t> sizes;
  ETC_RETURN_IF_BAD(param_object.GetObject("layout", &object));
  ETC_RETURN_IF_BAD(object.ForEach("tile", [&](const json& size, const std::string& place) {
    ETC_RETURN_IF_BAD(Read(size, place, &sizes.emplace_back()));
    return sizes.back() >= 1 && sizes.back() <= kMaxTile
               ? Status{}
               : Bad(place, Cat("is ", sizes.back(), ", but must be in 1..", kMaxTile));
  }));
  if (sizes.size() != 2) {
    return Bad(object.At("tile"), Cat("has ", sizes.size(), " sizes, but must have 2"));
  }
  const size_t rank = param->shape.size();
  if (rank < 2) {
    return Bad(object.At("tile"), Cat("is given, but the parameter has ", rank, " extents"));
  }
  for (size_t i = 0; i < 2; ++i) {
    const manifest::Expr& extent = param->shape[rank - 2 + i];
    if (extent.kind == manifest::Expr::Kind::Int && extent.value % sizes[i] != 0) {
      return Bad(object.At("tile"), Cat("has ", sizes[i], ", which does not divide extent ",
                                        rank - 2 + i, ", ", extent.value));
    }
  }
  param->tile = manifest::Tile{sizes[0], sizes[1], false};
  return ReadSwizzle(object, *param, &*param->tile);
}

Status ReadParam(const json& value, const std::string& where, manifest::Graph* graph) {
  JsonObject object;
  manifest::Param param;
  std::string dtype;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, where, &object));
  ETC_RETURN_IF_BAD(object.Get("name", &param.name));
  ETC_RETURN_IF_BAD(CheckNew(graph->params, object.At("name"), param.name));
  ETC_RETURN_IF_BAD(ReadAccess(object, &param.access));
  ETC_RETURN_IF_BAD(object.Get("dtype", &dtype));
  const DTypeInfo* info = FindDType(dtype);
  if (info == nullptr) {
    return Bad(object.At("dtype"), Cat("is `", dtype, "`, which is no dtype"));
  }
  param.dtype = info->dtype;
  ETC_RETURN_IF_BAD(object.ForEach("shape", [&](const json& extent, const std::string& place) {
    return ReadExpr(extent, place, *graph, &param.shape.emplace_back());
  }));
  if (static_cast<int64_t>(param.shape.size()) > kMaxRank) {
    return Bad(object.At("shape"), Cat("has more than ", kMaxRank, " extents"));
  }
  ETC_RETURN_IF_BAD(object.Get("alignment", 1, int64_t{1} << 30, &param.alignment));
  if ((param.alignment & (param.alignment - 1)) != 0) {
    return Bad(object.At("alignment"), Cat("is ", param.alignment, ", which is no power of two"));
  }
  ETC_RETURN_IF_BAD(ReadValueRange(object, *graph, &param));
  ETC_RETURN_IF_BAD(ReadPromise(object, "distinct", param, &param.distinct));
  ETC_RETURN_IF_BAD(ReadPromise(object, "monotone", param, &param.monotone));
  ETC_RETURN_IF_BAD(ReadLayout(object, &param));
  graph->params.push_back(std::move(param));
  return {};
}

Status ReadWhere(const json& value, const std::string& where, const manifest::Graph& graph,
                 manifest::Kernel* kernel) {
  JsonObject object;
  manifest::Where range;
  std::string dim;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, where, &object));
  ETC_RETURN_IF_BAD(object.Get("dim", &dim));
  ETC_RETURN_IF_BAD(FindDim(graph, object.At("dim"), dim, &range.dim));
  ETC_RETURN_IF_BAD(object.Get("min", &range.min));
  ETC_RETURN_IF_BAD(object.Get("max", range.min, INT64_MAX, &range.max));
  kernel->where.push_back(range);
  return {};
}

Status ReadEntry(const JsonObject& object, std::string* entry) {
  ETC_RETURN_IF_BAD(object.Get("entry", entry));
  return entry->empty() ? Bad(object.At("entry"), "is empty") : Status{};
}

Status ReadLaunches(const JsonObject& object, const manifest::Graph& graph,
                    std::vector<manifest::Launch>* launches, int depth = kMaxRepeatDepth) {
  return object.ForEach("launches", [&](const json& value, const std::string& place) -> Status {
    JsonObject inner;
    manifest::Launch& launch = launches->emplace_back();
    ETC_RETURN_IF_BAD(JsonObject::Open(value, place, &inner));
    launch.is_repeat = inner.Find("repeat") != nullptr;
    if (!launch.is_repeat) {
      ETC_RETURN_IF_BAD(ReadEntry(inner, &launch.entry));
      return ReadExpr(inner, "tasks", graph, &launch.tasks);
    }
    std::vector<int64_t> bounds;
    ETC_RETURN_IF_BAD(inner.ForEach("repeat", [&](const json& bound, const std::string& at) {
      return Read(bound, at, &bounds.emplace_back());
    }));
    if (bounds.size() != 2 || bounds[0] > bounds[1]) {
      return Bad(inner.At("repeat"), "must be the first iteration and the one behind the last");
    }
    if (depth == 0) {
      return Bad(place, "is nested too deep");
    }
    launch.begin = bounds[0];
    launch.end = bounds[1];
    return ReadLaunches(inner, graph, &launch.launches, depth - 1);
  });
}

Status ReadKernel(const json& value, const std::string& where, manifest::Graph* graph) {
  JsonObject object;
  manifest::Kernel kernel;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, where, &object));
  if (object.Find("launches") != nullptr) {
    ETC_RETURN_IF_BAD(ReadLaunches(object, *graph, &kernel.launches));
  } else {
    ETC_RETURN_IF_BAD(ReadEntry(object, &kernel.entry));
  }
  ETC_RETURN_IF_BAD(object.Get("schedule", &kernel.schedule));
  ETC_RETURN_IF_BAD(object.ForEach("where", [&](const json& range, const std::string& place) {
    return ReadWhere(range, place, *graph, &kernel);
  }));
  ETC_RETURN_IF_BAD(object.Get("threads", 1, 1024, &kernel.threads));
  ETC_RETURN_IF_BAD(object.Get("shared_bytes", 0, INT32_MAX, &kernel.shared_bytes));
  ETC_RETURN_IF_BAD(ReadExpr(object, "workspace_bytes", *graph, &kernel.workspace_bytes));
  ETC_RETURN_IF_BAD(ReadExpr(object, "event_counters", *graph, &kernel.event_counters));
  graph->kernels.push_back(std::move(kernel));
  return {};
}

}  // namespace

Status ReadGraph(const json& value, const std::string& where, manifest::Manifest* manifest) {
  JsonObject object;
  manifest::Graph graph;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, where, &object));
  ETC_RETURN_IF_BAD(object.Get("name", &graph.name));
  ETC_RETURN_IF_BAD(CheckNew(manifest->graphs, object.At("name"), graph.name));
  const auto with_graph = [&](auto* read) {
    return [&graph, read](const json& element, const std::string& place) {
      return read(element, place, &graph);
    };
  };
  ETC_RETURN_IF_BAD(object.ForEach("dims", with_graph(ReadDim)));
  ETC_RETURN_IF_BAD(object.ForEach("params", with_graph(ReadParam)));
  ETC_RETURN_IF_BAD(object.ForEach("kernels", with_graph(ReadKernel)));
  if (graph.kernels.empty()) {
    return Bad(object.At("kernels"), "is empty");
  }
  manifest->graphs.push_back(std::move(graph));
  return {};
}

}  // namespace etc::runtime
