#include "runtime/tensor_maps.h"

#include "runtime/dtype.h"
#include "runtime/expr_reader.h"
#include "runtime/manifest_expr.h"

namespace etc::runtime {
namespace {

using manifest::TensorMap;

constexpr int64_t kMaxBoxExtent = 256;

Status ReadPlace(const JsonObject& object, const manifest::Graph& graph, TensorMap* map) {
  if (const JsonValue* name = object.Find("param"); name != nullptr) {
    std::string param;
    ETC_RETURN_IF_BAD(Read(*name, &param));
    for (; map->param < graph.params.size(); ++map->param) {
      if (graph.params[map->param].name == param) {
        return {};
      }
    }
    return Bad(*name, Cat("is `", Shown(param), "`, which is no parameter"));
  }
  map->place = TensorMap::Place::Workspace;
  const JsonValue* offset = object.Find("workspace");
  if (offset == nullptr) {
    map->place = TensorMap::Place::Symmetric;
    ETC_RETURN_IF_BAD(object.Need("symmetric", &offset));
    if (!graph.mesh) {
      return Bad(*offset, "is given, but the graph has no mesh");
    }
  }
  return ReadExpr(*offset, graph, 0, INT64_MAX, &map->offset);
}

Status ReadBox(const JsonValue& box, TensorMap* map) {
  const bool is_pair = box.kind == JsonValue::Kind::Array && box.size == 2;
  if (!is_pair) {
    return Bad(box, "must be a number of rows and one of columns");
  }
  ETC_RETURN_IF_BAD(ReadWithin(*box.first, 1, kMaxBoxExtent, &map->box_rows));
  return ReadWithin(*box.first->next, 1, kMaxBoxExtent, &map->box_columns);
}

}  // namespace

Status ReadTensorMap(const JsonValue& value, const manifest::Graph& graph, TensorMap* map) {
  JsonObject object;
  const JsonValue* dtype = nullptr;
  const JsonValue* shape = nullptr;
  const JsonValue* box = nullptr;
  std::string name;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, &object));
  ETC_RETURN_IF_BAD(ReadPlace(object, graph, map));
  ETC_RETURN_IF_BAD(object.Need("dtype", &dtype));
  ETC_RETURN_IF_BAD(Read(*dtype, &name));
  const DTypeInfo* info = FindDType(name);
  if (info == nullptr) {
    return Bad(*dtype, Cat("is `", Shown(name), "`, which is no dtype"));
  }
  map->dtype = info->dtype;
  ETC_RETURN_IF_BAD(object.Need("shape", &shape));
  ETC_RETURN_IF_BAD(ReadEach(*shape, [&](const JsonValue& extent) {
    return ReadExpr(extent, graph, 0, INT64_MAX, &map->shape.emplace_back());
  }));
  if (map->shape.size() != 3) {
    return Bad(*shape, "must be a number of slices, one of rows and one of columns");
  }
  ETC_RETURN_IF_BAD(object.Need("box", &box));
  ETC_RETURN_IF_BAD(ReadBox(*box, map));
  return object.CheckKeys();
}

Status SizeBox(const TensorMap& map, const std::vector<int64_t>& dims, TensorBox* box,
               int64_t* offset) {
  box->element_bytes = FindDType(map.dtype)->bytes;
  box->box_rows = map.box_rows;
  box->box_columns = map.box_columns;
  for (size_t axis = 0; axis < box->shape.size(); ++axis) {
    ETC_RETURN_IF_BAD(Evaluate(map.shape[axis], dims, &box->shape[axis]));
  }
  return map.place == TensorMap::Place::Param ? Status{} : Evaluate(map.offset, dims, offset);
}

}  // namespace etc::runtime
