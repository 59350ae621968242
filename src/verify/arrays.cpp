#include "verify/arrays.h"

#include <fmt/format.h>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "verify/wording.h"

namespace etc {

void CheckArray(const Module& module, const Tensor& param, Diagnostics& diagnostics) {
  if (!param.array) {
    return;
  }
  ExprId extent = param.shape.front();
  auto count = EvaluateInt(module, extent, {});
  if (!count) {
    diagnostics.Error(
        DiagnosticKind::Array, module.RangeOf(extent),
        fmt::format("`%{}` is an array of tensors, whose number must be a constant, but `{}` is "
                    "known at launch only",
                    param.name, Print(module, extent)));
  } else if (*count < 1 || *count > kMostOfArray) {
    diagnostics.Error(DiagnosticKind::Array, module.RangeOf(extent),
                      fmt::format("`%{}` is an array of {} tensors, but one has 1 to {}",
                                  param.name, *count, kMostOfArray));
  }
}

bool CheckArraySlice(const Module& module, const Argument& arg, SourceRange range,
                     Diagnostics& diagnostics) {
  const Tensor& tensor = module.tensors[arg.tensor];
  bool has_free_axes = HasFreeAxes(arg);
  if (!tensor.array || (!arg.indices.empty() && arg.indices[0] && !has_free_axes)) {
    return true;
  }
  std::string what =
      has_free_axes
          ? fmt::format(
                "the slice of `%{}` has a free axis in front of an index, but the tensors "
                "of an array lie apart",
                tensor.name)
          : fmt::format("`%{0}` is an array of tensors, of which a call takes one: `%{0}[i]`",
                        tensor.name);
  diagnostics.Error(DiagnosticKind::Array, range, std::move(what))
      .notes.push_back(DeclaredHere(tensor));
  return false;
}

}  // namespace etc
