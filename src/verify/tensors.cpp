#include "verify/tensors.h"

#include <fmt/format.h>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "verify/samples.h"

namespace etc {
namespace {

void CheckExtent(const Module& module, const Tensor& tensor, ExprId extent, ExprChecker& exprs,
                 Diagnostics& diagnostics) {
  std::string what = fmt::format("an extent of `%{}`", tensor.name);
  size_t before = diagnostics.error_count();
  bool dims_allowed = tensor.kind != TensorKind::Local;
  if (exprs.CheckClosed(extent, dims_allowed, what, DiagnosticKind::Shape)) {
    exprs.ExpectInt(extent, what);
  }
  if (diagnostics.error_count() != before) {
    return;
  }
  auto bounds = Bounds(module, extent, {});
  if (bounds && bounds->lo >= 1) {
    return;
  }
  for (const Sizes& sizes : SampleSizes(module)) {
    auto value = EvaluateInt(module, extent, sizes.dims, sizes.ranges);
    if (value && *value < 1) {
      bool constant = EvaluateInt(module, extent, {}).has_value();
      diagnostics.Error(
          DiagnosticKind::Shape, module.RangeOf(extent),
          fmt::format("{} must be at least 1, but `{}` is {}{}", what, Print(module, extent),
                      *value, constant ? "" : Describe(module, sizes)));
      return;
    }
  }
}

void CheckPromise(const Module& module, const Tensor& tensor, ExprChecker& exprs,
                  Diagnostics& diagnostics) {
  std::string what = fmt::format("the value range of `%{}`", tensor.name);
  if (KindOf(tensor.type) != ValueKind::Int) {
    diagnostics.Error(DiagnosticKind::Type, module.RangeOf(tensor.value_lo),
                      fmt::format("only a tensor of integers has a value range, but `%{}` is {}",
                                  tensor.name, Spelling(tensor.type)));
    return;
  }
  size_t before = diagnostics.error_count();
  for (ExprId bound : {tensor.value_lo, tensor.value_hi}) {
    if (exprs.CheckClosed(bound, true, what, DiagnosticKind::Type)) {
      exprs.ExpectInt(bound, what);
    }
  }
  if (diagnostics.error_count() != before) {
    return;
  }
  for (const Sizes& sizes : SampleSizes(module)) {
    auto lo = EvaluateInt(module, tensor.value_lo, sizes.dims, sizes.ranges);
    auto hi = EvaluateInt(module, tensor.value_hi, sizes.dims, sizes.ranges);
    if (lo && hi && *lo >= *hi) {
      diagnostics.Error(
          DiagnosticKind::Type, module.RangeOf(tensor.value_hi),
          fmt::format("{} is empty: it is {} .. {}, without its upper end", what, *lo, *hi));
      return;
    }
  }
}

}  // namespace

void CheckTensor(const Module& module, const Tensor& tensor, ExprChecker& exprs,
                 Diagnostics& diagnostics) {
  for (ExprId extent : tensor.shape) {
    CheckExtent(module, tensor, extent, exprs, diagnostics);
  }
  if (tensor.value_lo) {
    CheckPromise(module, tensor, exprs, diagnostics);
  }
}

const char* Describe(const Tensor& tensor) {
  switch (tensor.kind) {
    case TensorKind::Buffer:
      return "a buffer";
    case TensorKind::Local:
      return "a local";
    case TensorKind::Param:
      break;
  }
  switch (tensor.access) {
    case Access::In:
      return "an `in` parameter";
    case Access::Out:
      return "an `out` parameter";
    case Access::InOut:
      break;
  }
  return "an `inout` parameter";
}

}  // namespace etc
