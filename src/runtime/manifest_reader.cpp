#include "runtime/manifest_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/dtype.h"
#include "runtime/manifest_expr.h"

namespace etc::runtime {
namespace {

using nlohmann::json;

constexpr int kMaxExprDepth = 64;
constexpr int kMaxRepeatDepth = 64;
constexpr int64_t kMaxRank = 16;
constexpr int64_t kMaxTile = 1 << 20;

Status Bad(const std::string& where, const std::string& what) {
  return Fail(ETC_ERROR_MANIFEST, "`", where, "` ", what);
}

std::string_view KindOf(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "an array";
    case json::value_t::string:
      return "a string";
    case json::value_t::boolean:
      return "a boolean";
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return "an integer";
    default:
      return "a number with a fraction";
  }
}

Status WrongKind(const std::string& where, const json& value, std::string_view expected) {
  return Bad(where, Cat("is ", KindOf(value), ", but ", expected, " is expected"));
}

Status Read(const json& value, const std::string& where, std::string* out) {
  if (!value.is_string()) {
    return WrongKind(where, value, "a string");
  }
  *out = value.get<std::string>();
  // Names go out as C strings.
  if (out->find('\0') != std::string::npos) {
    return Bad(where, "has a null character");
  }
  return {};
}

Status Read(const json& value, const std::string& where, int64_t* out) {
  if (!value.is_number_integer()) {
    return WrongKind(where, value, "an integer");
  }
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) {
    return Bad(where, Cat("is ", value.get<uint64_t>(), ", which is too large"));
  }
  *out = value.get<int64_t>();
  return {};
}

/// One object of the manifest and its place in the text.
class Object {
 public:
  static Status Open(const json& value, std::string where, Object* object) {
    if (!value.is_object()) {
      return WrongKind(where, value, "an object");
    }
    object->value_ = &value;
    object->where_ = std::move(where);
    return {};
  }

  std::string At(std::string_view key) const {
    return where_.empty() ? std::string(key) : Cat(where_, ".", key);
  }
  const json* Find(const char* key) const {
    const auto found = value_->find(key);
    return found == value_->end() ? nullptr : &*found;
  }
  Status Need(const char* key, const json** value) const {
    *value = Find(key);
    return *value != nullptr ? Status{} : Bad(At(key), "is missing");
  }

  template <class T>
  Status Get(const char* key, T* out) const {
    const json* value = nullptr;
    ETC_RETURN_IF_BAD(Need(key, &value));
    return Read(*value, At(key), out);
  }
  Status Get(const char* key, int64_t min, int64_t max, int64_t* out) const {
    ETC_RETURN_IF_BAD(Get(key, out));
    if (*out < min || *out > max) {
      return Bad(At(key), Cat("is ", *out, ", but must be in ", min, "..", max));
    }
    return {};
  }
  Status GetObject(const char* key, Object* out) const {
    const json* value = nullptr;
    ETC_RETURN_IF_BAD(Need(key, &value));
    return Open(*value, At(key), out);
  }

  /// Calls `read(element, place)` for each element of the array.
  template <class ReadElement>
  Status ForEach(const char* key, ReadElement read) const {
    const json* array = nullptr;
    ETC_RETURN_IF_BAD(Need(key, &array));
    if (!array->is_array()) {
      return WrongKind(At(key), *array, "an array");
    }
    for (size_t i = 0; i < array->size(); ++i) {
      ETC_RETURN_IF_BAD(read((*array)[i], Cat(At(key), "[", i, "]")));
    }
    return {};
  }

 private:
  const json* value_ = nullptr;
  std::string where_;
};

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
                int depth, manifest::Expr* expr) {
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
        ReadExpr(value[i + 1], Cat(where, "[", i + 1, "]"), graph, depth - 1, &expr->args[i]));
  }
  return {};
}

Status ReadDim(const json& value, const std::string& where, manifest::Graph* graph) {
  Object object;
  manifest::Dim dim;
  ETC_RETURN_IF_BAD(Object::Open(value, where, &object));
  ETC_RETURN_IF_BAD(object.Get("name", &dim.name));
  ETC_RETURN_IF_BAD(CheckNew(graph->dims, object.At("name"), dim.name));
  ETC_RETURN_IF_BAD(object.Get("min", &dim.min));
  ETC_RETURN_IF_BAD(object.Get("max", dim.min, INT64_MAX, &dim.max));
  ETC_RETURN_IF_BAD(object.Get("multiple", 1, INT64_MAX, &dim.multiple));
  graph->dims.push_back(std::move(dim));
  return {};
}

Status ReadAccess(const Object& object, etc_access* access) {
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
Status ReadPromise(const Object& object, const char* key, const manifest::Param& param,
                   bool* promised) {
  const json* value = object.Find(key);
  if (value == nullptr) {
    return {};
  }
  if (!value->is_boolean()) {
    return Bad(object.At(key), "must be a boolean");
  }
  *promised = value->get<bool>();
  return !*promised || (IsInteger(param.dtype) && !param.shape.empty())
             ? Status{}
             : Bad(object.At(key), "is given, but only integer tensors with extents have it");
}

Status ReadValueRange(const Object& object, const manifest::Graph& graph, manifest::Param* param) {
  if (object.Find("value_min") == nullptr && object.Find("value_max") == nullptr) {
    return {};
  }
  manifest::ValueRange range;
  for (auto [key, bound] :
       {std::pair("value_min", &range.min), std::pair("value_max", &range.max)}) {
    const json* value = nullptr;
    ETC_RETURN_IF_BAD(object.Need(key, &value));
    ETC_RETURN_IF_BAD(ReadExpr(*value, object.At(key), graph, kMaxExprDepth, bound));
  }
  if (!IsInteger(param->dtype)) {
    return Bad(object.At("value_min"), "is given, but only integer tensors have a value range");
  }
  param->values = range;
  return {};
}

Status ReadLayout(const Object& param_object, manifest::Param* param) {
  if (param_object.Find("layout") == nullptr) {
    return {};
  }
  Object object;
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
  param->tile = manifest::Tile{sizes[0], sizes[1]};
  return {};
}

Status ReadParam(const json& value, const std::string& where, manifest::Graph* graph) {
  Object object;
  manifest::Param param;
  std::string dtype;
  ETC_RETURN_IF_BAD(Object::Open(value, where, &object));
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
    return ReadExpr(extent, place, *graph, kMaxExprDepth, &param.shape.emplace_back());
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
  Object object;
  manifest::Where range;
  std::string dim;
  ETC_RETURN_IF_BAD(Object::Open(value, where, &object));
  ETC_RETURN_IF_BAD(object.Get("dim", &dim));
  ETC_RETURN_IF_BAD(FindDim(graph, object.At("dim"), dim, &range.dim));
  ETC_RETURN_IF_BAD(object.Get("min", &range.min));
  ETC_RETURN_IF_BAD(object.Get("max", range.min, INT64_MAX, &range.max));
  kernel->where.push_back(range);
  return {};
}

Status ReadEntry(const Object& object, std::string* entry) {
  ETC_RETURN_IF_BAD(object.Get("entry", entry));
  return entry->empty() ? Bad(object.At("entry"), "is empty") : Status{};
}

Status ReadLaunches(const Object& object, const manifest::Graph& graph, int depth,
                    std::vector<manifest::Launch>* launches) {
  return object.ForEach("launches", [&](const json& value, const std::string& place) -> Status {
    Object inner;
    manifest::Launch& launch = launches->emplace_back();
    ETC_RETURN_IF_BAD(Object::Open(value, place, &inner));
    launch.is_repeat = inner.Find("repeat") != nullptr;
    if (!launch.is_repeat) {
      const json* tasks = nullptr;
      ETC_RETURN_IF_BAD(ReadEntry(inner, &launch.entry));
      ETC_RETURN_IF_BAD(inner.Need("tasks", &tasks));
      return ReadExpr(*tasks, inner.At("tasks"), graph, kMaxExprDepth, &launch.tasks);
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
    return ReadLaunches(inner, graph, depth - 1, &launch.launches);
  });
}

Status ReadKernel(const json& value, const std::string& where, manifest::Graph* graph) {
  Object object;
  manifest::Kernel kernel;
  const json* expr = nullptr;
  ETC_RETURN_IF_BAD(Object::Open(value, where, &object));
  if (object.Find("launches") != nullptr) {
    ETC_RETURN_IF_BAD(ReadLaunches(object, *graph, kMaxRepeatDepth, &kernel.launches));
  } else {
    ETC_RETURN_IF_BAD(ReadEntry(object, &kernel.entry));
  }
  ETC_RETURN_IF_BAD(object.Get("schedule", &kernel.schedule));
  ETC_RETURN_IF_BAD(object.ForEach("where", [&](const json& range, const std::string& place) {
    return ReadWhere(range, place, *graph, &kernel);
  }));
  ETC_RETURN_IF_BAD(object.Get("threads", 1, 1024, &kernel.threads));
  ETC_RETURN_IF_BAD(object.Get("shared_bytes", 0, INT32_MAX, &kernel.shared_bytes));
  ETC_RETURN_IF_BAD(object.Need("workspace_bytes", &expr));
  ETC_RETURN_IF_BAD(ReadExpr(*expr, object.At("workspace_bytes"), *graph, kMaxExprDepth,
                             &kernel.workspace_bytes));
  ETC_RETURN_IF_BAD(object.Need("event_counters", &expr));
  ETC_RETURN_IF_BAD(
      ReadExpr(*expr, object.At("event_counters"), *graph, kMaxExprDepth, &kernel.event_counters));
  graph->kernels.push_back(std::move(kernel));
  return {};
}

Status ReadGraph(const json& value, const std::string& where, manifest::Manifest* manifest) {
  Object object;
  manifest::Graph graph;
  ETC_RETURN_IF_BAD(Object::Open(value, where, &object));
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

Status ReadConstants(const Object& root, manifest::Manifest* manifest) {
  const json* values = nullptr;
  ETC_RETURN_IF_BAD(root.Need("constants", &values));
  if (!values->is_object()) {
    return WrongKind("constants", *values, "an object");
  }
  for (const auto& [name, value] : values->items()) {
    const std::string where = Cat("constants.", name);
    manifest::Constant constant{name, false};
    if (value.is_boolean()) {
      constant.value = value.get<bool>();
    } else if (value.is_number_float()) {
      constant.value = value.get<double>();
    } else {
      int64_t number = 0;
      ETC_RETURN_IF_BAD(Read(value, where, &number));
      constant.value = number;
    }
    manifest->constants.push_back(std::move(constant));
  }
  return {};
}

Status ReadBinary(const Object& root, manifest::Binary* binary) {
  Object object;
  ETC_RETURN_IF_BAD(root.GetObject("binary", &object));
  ETC_RETURN_IF_BAD(object.Get("file", &binary->file));
  if (binary->file.empty() || binary->file.find('/') != std::string::npos) {
    return Bad(object.At("file"), Cat("is `", binary->file, "`, but must name a file beside it"));
  }
  ETC_RETURN_IF_BAD(object.Get("bytes", 0, INT64_MAX, &binary->bytes));
  return object.Get("xxh3_128", &binary->xxh3_128);
}

Status ReadProducer(const Object& root, manifest::Producer* producer) {
  Object object;
  ETC_RETURN_IF_BAD(root.GetObject("producer", &object));
  ETC_RETURN_IF_BAD(object.Get("etc", &producer->etc));
  ETC_RETURN_IF_BAD(object.Get("toolchain", &producer->toolchain));
  return object.ForEach("flags", [&](const json& flag, const std::string& place) {
    return Read(flag, place, &producer->flags.emplace_back());
  });
}

Status ReadRoot(const json& document, manifest::Manifest* manifest) {
  if (!document.is_object()) {
    return Fail(ETC_ERROR_MANIFEST, "is ", KindOf(document), ", but an object is expected");
  }
  Object root;
  int64_t version = 0;
  ETC_RETURN_IF_BAD(Object::Open(document, "", &root));
  ETC_RETURN_IF_BAD(root.Get("etc_manifest", &version));
  if (version != manifest::kVersion) {
    return Bad("etc_manifest", Cat("is version ", version, ", but this library reads version ",
                                   manifest::kVersion));
  }
  ETC_RETURN_IF_BAD(root.Get("target", &manifest->target));
  ETC_RETURN_IF_BAD(ReadBinary(root, &manifest->binary));
  ETC_RETURN_IF_BAD(ReadProducer(root, &manifest->producer));
  ETC_RETURN_IF_BAD(ReadConstants(root, manifest));
  ETC_RETURN_IF_BAD(root.ForEach("graphs", [&](const json& graph, const std::string& place) {
    return ReadGraph(graph, place, manifest);
  }));
  if (root.Find("debug_checks") != nullptr) {
    manifest->debug_checks.emplace();
    ETC_RETURN_IF_BAD(root.ForEach("debug_checks", [&](const json& text, const std::string& place) {
      return Read(text, place, &manifest->debug_checks->emplace_back());
    }));
  }
  return manifest->graphs.empty() ? Bad("graphs", "is empty") : Status{};
}

}  // namespace

Status ReadManifest(const std::string& text, manifest::Manifest* manifest) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    return Fail(ETC_ERROR_MANIFEST, "is no JSON: unexpected text in line ",
                std::count(text.begin(), end, '\n') + 1);
  } catch (const json::exception&) {
    return Fail(ETC_ERROR_MANIFEST, "has a number that is out of range");
  }
  return ReadRoot(document, manifest);
}

}  // namespace etc::runtime
