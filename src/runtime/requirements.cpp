#include "runtime/requirements.h"

#include <algorithm>
#include <string>

#include "runtime/expr_reader.h"
#include "runtime/manifest_expr.h"

namespace etc::runtime {
namespace {

/// Adds the dims of the expression, each once.
void CollectDims(const manifest::Expr& expr, std::vector<size_t>* dims) {
  if (expr.kind == manifest::Expr::Kind::Dim) {
    const auto dim = static_cast<size_t>(expr.value);
    if (std::find(dims->begin(), dims->end(), dim) == dims->end()) {
      dims->push_back(dim);
    }
  }
  for (const manifest::Expr& arg : expr.args) {
    CollectDims(arg, dims);
  }
}

}  // namespace

Status ReadRequirements(const JsonObject& object, const manifest::Graph& graph,
                        std::vector<manifest::Requirement>* requirements) {
  const JsonValue* all = object.Find("requirements");
  if (all == nullptr) {
    return {};
  }
  return ReadEach(*all, [&](const JsonValue& value) -> Status {
    JsonObject inner;
    const JsonValue* holds = nullptr;
    manifest::Requirement& requirement = requirements->emplace_back();
    ETC_RETURN_IF_BAD(JsonObject::Open(value, &inner));
    ETC_RETURN_IF_BAD(inner.Get("text", &requirement.text));
    ETC_RETURN_IF_BAD(inner.Need("holds", &holds));
    ETC_RETURN_IF_BAD(ReadExpr(*holds, graph, INT64_MIN, INT64_MAX, &requirement.holds));
    return inner.CheckKeys();
  });
}

Status CheckRequirements(const manifest::Graph& graph,
                         const std::vector<manifest::Requirement>& requirements,
                         const std::vector<int64_t>& dims) {
  for (const manifest::Requirement& requirement : requirements) {
    int64_t holds = 0;
    if (Status status = Evaluate(requirement.holds, dims, &holds); !status.Ok()) {
      return Fail(status.code, "graph `", graph.name, "` requires `", requirement.text, "`, which ",
                  status.message);
    }
    if (holds != 0) {
      continue;
    }
    std::vector<size_t> used;
    CollectDims(requirement.holds, &used);
    std::string sizes;
    for (const size_t dim : used) {
      sizes += Cat(sizes.empty() ? " for " : ", ", graph.dims[dim].name, " = ", dims[dim]);
    }
    return Fail(ETC_ERROR_DIM, "graph `", graph.name, "` requires `", requirement.text,
                "`, which does not hold", sizes);
  }
  return {};
}

}  // namespace etc::runtime
