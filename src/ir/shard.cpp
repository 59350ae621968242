#include "ir/shard.h"

#include "ir/evaluate.h"

namespace etc {
namespace {

/// A sharded axis has a quotient for its extent.
const Binary& Quotient(const Module& module, const Tensor& tensor) {
  return std::get<Binary>(module.exprs[tensor.shape[*tensor.shard]]);
}

}  // namespace

ExprId WholeExtent(const Module& module, const Tensor& tensor) {
  return Quotient(module, tensor).left;
}

ExprId PartsOf(const Module& module, const Tensor& tensor) {
  return Quotient(module, tensor).right;
}

std::optional<int64_t> PartsAt(const Module& module, const Tensor& tensor, int64_t ranks) {
  return EvaluateInt(module, PartsOf(module, tensor), {{module.mesh->size, ranks}});
}

}  // namespace etc
