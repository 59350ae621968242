#include "runtime/graph_reader.h"

#include <utility>

#include "runtime/expr_reader.h"
#include "runtime/kernel_reader.h"
#include "runtime/names.h"
#include "runtime/param_reader.h"
#include "runtime/requirements.h"
#include "runtime/symmetric_memory.h"

namespace etc::runtime {
namespace {

Status ReadDim(const JsonValue& value, manifest::Graph* graph) {
  JsonObject object;
  manifest::Dim dim;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, &object));
  ETC_RETURN_IF_BAD(ReadNewName(object, graph->dims, &dim.name));
  ETC_RETURN_IF_BAD(object.Get("min", 0, INT64_MAX, &dim.min));
  ETC_RETURN_IF_BAD(object.Get("max", dim.min, INT64_MAX, &dim.max));
  ETC_RETURN_IF_BAD(object.Get("multiple", 1, INT64_MAX, &dim.multiple));
  if (dim.max - dim.max % dim.multiple < dim.min) {
    return Bad(value, Cat("has no multiple of ", dim.multiple, " in ", dim.min, "..", dim.max));
  }
  ETC_RETURN_IF_BAD(object.CheckKeys());
  graph->dims.push_back(std::move(dim));
  return {};
}

Status ReadMesh(const JsonObject& graph_object, manifest::Graph* graph) {
  if (graph_object.Find("mesh") == nullptr) {
    return {};
  }
  JsonObject object;
  manifest::Mesh mesh;
  const JsonValue* size = nullptr;
  const JsonValue* values = nullptr;
  ETC_RETURN_IF_BAD(graph_object.GetObject("mesh", &object));
  ETC_RETURN_IF_BAD(object.Need("size", &size));
  ETC_RETURN_IF_BAD(FindDim(*size, *graph, &mesh.size));
  ETC_RETURN_IF_BAD(object.Need("values", &values));
  ETC_RETURN_IF_BAD(ReadEach(*values, [&](const JsonValue& value) {
    const int64_t least = mesh.values.empty() ? 1 : mesh.values.back() + 1;
    return ReadWithin(value, least, kMostRanks, &mesh.values.emplace_back());
  }));
  if (mesh.values.empty()) {
    return Bad(*values, "is empty");
  }
  graph->mesh = std::move(mesh);
  return object.CheckKeys();
}

}  // namespace

Status ReadGraph(const JsonValue& value, manifest::Manifest* manifest) {
  JsonObject object;
  manifest::Graph graph;
  const JsonValue* kernels = nullptr;
  ETC_RETURN_IF_BAD(JsonObject::Open(value, &object));
  ETC_RETURN_IF_BAD(ReadNewName(object, manifest->graphs, &graph.name));
  const auto with_graph = [&](auto* read) {
    return [&graph, read](const JsonValue& element) { return read(element, &graph); };
  };
  ETC_RETURN_IF_BAD(object.ForEach("dims", with_graph(ReadDim)));
  ETC_RETURN_IF_BAD(ReadMesh(object, &graph));
  ETC_RETURN_IF_BAD(ReadRequirements(object, graph, &graph.requirements));
  ETC_RETURN_IF_BAD(object.ForEach("params", with_graph(ReadParam)));
  ETC_RETURN_IF_BAD(object.Need("kernels", &kernels));
  ETC_RETURN_IF_BAD(ReadEach(*kernels, with_graph(ReadKernel)));
  if (graph.kernels.empty()) {
    return Bad(*kernels, "is empty");
  }
  ETC_RETURN_IF_BAD(object.CheckKeys());
  manifest->graphs.push_back(std::move(graph));
  return {};
}

}  // namespace etc::runtime
