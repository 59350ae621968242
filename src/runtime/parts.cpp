#include "runtime/parts.h"

#include <optional>
#include <vector>

#include "runtime/manifest_expr.h"

namespace etc::runtime {

Status CountParts(const manifest::Graph& graph, const manifest::Param& param, int64_t ranks,
                  int64_t* parts) {
  *parts = param.shard ? ranks : 1;
  if (!param.parts) {
    return {};
  }
  std::vector<std::optional<int64_t>> known(graph.dims.size());
  std::vector<int64_t> dims(graph.dims.size());
  known[static_cast<size_t>(graph.mesh->size)] = ranks;
  dims[static_cast<size_t>(graph.mesh->size)] = ranks;
  if (!IsKnown(*param.parts, known)) {
    return Fail(ETC_ERROR_MANIFEST, "the number of parts of `", param.name,
                "` depends on more than the number of ranks");
  }
  ETC_RETURN_IF_BAD(Evaluate(*param.parts, dims, parts));
  return *parts >= 1 && ranks % *parts == 0
             ? Status{}
             : Fail(ETC_ERROR_MANIFEST, "the number of parts of `", param.name, "`, ", *parts,
                    ", does not divide ", ranks, ranks == 1 ? " rank" : " ranks");
}

}  // namespace etc::runtime
