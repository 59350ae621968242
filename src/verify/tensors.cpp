#include "verify/tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/samples.h"
#include "analysis/shapes.h"
#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/shard.h"
#include "ir/walk.h"
#include "verify/phased.h"
#include "verify/values.h"
#include "verify/wording.h"

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
  int64_t least = dims_allowed ? 0 : 1;
  auto bounds = Bounds(module, extent, {}, RangesOf(module, exprs.where()));
  if (bounds && bounds->lo >= least) {
    return;
  }
  for (const Sizes& sizes : SampleSizes(module, exprs.where())) {
    auto value = EvaluateInt(module, extent, sizes.dims, sizes.ranges);
    if (!value) {
      diagnostics.Error(DiagnosticKind::Shape, module.RangeOf(extent),
                        fmt::format("{} must have a value, but {}{}", what,
                                    WhyNoValue(module, extent, sizes.dims, sizes.ranges),
                                    Describe(module, sizes)));
      return;
    }
    if (*value < least) {
      bool constant = EvaluateInt(module, extent, {}).has_value();
      diagnostics.Error(
          DiagnosticKind::Shape, module.RangeOf(extent),
          fmt::format("{} must {}, but `{}` is {}{}", what,
                      dims_allowed ? "not be negative" : "be at least 1", Print(module, extent),
                      *value, constant ? "" : Describe(module, sizes)));
      return;
    }
  }
}

/// A swizzled tile has what one period of the swizzle covers, or several.
void CheckSwizzle(const Module& module, const Tensor& tensor, int64_t rows, int64_t columns,
                  Diagnostics& diagnostics) {
  int64_t bytes = 0;
  bool overflows = __builtin_mul_overflow(columns, SizeInBytes(tensor.type), &bytes);
  if (overflows || (bytes != 32 && bytes != 64 && bytes != 128)) {
    diagnostics.Error(
        DiagnosticKind::Layout, module.RangeOf(tensor.tile[1]),
        fmt::format("a row of a swizzled tile has 32, 64 or 128 bytes, but one of `%{}` has {} "
                    "elements of {}",
                    tensor.name, columns, Spelling(tensor.type)));
  }
  if (rows % 8 != 0) {
    diagnostics.Error(DiagnosticKind::Layout, module.RangeOf(tensor.tile[0]),
                      fmt::format("a swizzled tile has a multiple of 8 rows, but that of `%{}` has "
                                  "{}",
                                  tensor.name, rows));
  }
}

/// The tile's sizes are constants that divide the last two extents.
void CheckLayout(const Module& module, const Tensor& tensor, ExprChecker& exprs,
                 Diagnostics& diagnostics) {
  SourceRange range{module.RangeOf(tensor.tile.front()).begin,
                    module.RangeOf(tensor.tile.back()).end};
  if (tensor.kind == TensorKind::Local) {
    diagnostics.Error(DiagnosticKind::Layout, range,
                      fmt::format("`%{}` is a local, which has no layout", tensor.name));
    return;
  }
  size_t rank = tensor.shape.size() - (tensor.array ? 1 : 0);
  if (rank < 2) {
    diagnostics.Error(DiagnosticKind::Layout, range,
                      fmt::format("a tile covers the last two axes, but {}`%{}` has {}",
                                  tensor.array ? "each tensor of " : "", tensor.name,
                                  Counted(static_cast<int64_t>(rank), "dimension")));
    return;
  }
  std::string what = fmt::format("the tile of `%{}`", tensor.name);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < tensor.tile.size(); ++i) {
    ExprId size = tensor.tile[i];
    size_t before = diagnostics.error_count();
    if (exprs.CheckClosed(size, false, what, DiagnosticKind::Layout)) {
      exprs.ExpectInt(size, what);
    }
    auto value = EvaluateInt(module, size, {});
    if (diagnostics.error_count() != before || !value) {
      continue;
    }
    if (*value < 1) {
      diagnostics.Error(
          DiagnosticKind::Layout, module.RangeOf(size),
          fmt::format("{} must be at least 1, but `{}` is {}", what, Print(module, size), *value));
      continue;
    }
    sizes.push_back(*value);
    size_t axis = tensor.shape.size() - 2 + i;
    ExprId extent = tensor.shape[axis];
    if (!IsMultiple(module, extent, *value)) {
      auto constant = EvaluateInt(module, extent, {});
      bool literal = std::holds_alternative<IntLiteral>(module.exprs[extent]);
      diagnostics
          .Error(DiagnosticKind::Layout, module.RangeOf(extent),
                 fmt::format("dimension {} of `%{}` is `{}`{}, {}a multiple of its tile's {}", axis,
                             tensor.name, Print(module, extent),
                             constant && !literal ? fmt::format(" = {}", *constant) : "",
                             constant ? "not " : "not at every size ", *value))
          .notes.push_back({module.RangeOf(size), "the tile is declared here"});
    }
  }
  if (tensor.swizzled && sizes.size() == 2) {
    CheckSwizzle(module, tensor, sizes[0], sizes[1], diagnostics);
  }
}

/// A bound that depends on the element reads nothing but parameters of integers that are not
/// written.
bool CheckRelation(const Module& module, ExprId bound, const std::string& what,
                   Diagnostics& diagnostics) {
  bool ok = true;
  VisitExprs(module, bound, [&](ExprId inner) {
    const Expr& expr = module.exprs[inner];
    const auto* load = std::get_if<Load>(&expr);
    if (load != nullptr && module.tensors[load->tensor].access != Access::In) {
      const Tensor& read = module.tensors[load->tensor];
      diagnostics.Error(DiagnosticKind::Type, module.RangeOf(inner),
                        fmt::format("{} may read `in` parameters only, but `%{}` is {}", what,
                                    read.name, Describe(read)));
      ok = false;
    } else if (std::holds_alternative<Reduce>(expr)) {
      diagnostics.Error(DiagnosticKind::Type, module.RangeOf(inner),
                        fmt::format("{} must not contain a reduction, but it contains `{}`", what,
                                    Print(module, inner)));
      ok = false;
    }
  });
  return ok;
}

void CheckValueRange(const Module& module, const Tensor& tensor, ExprChecker& exprs,
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
    bool may_be_used = IsUniform(module, tensor)
                           ? exprs.CheckClosed(bound, true, what, DiagnosticKind::Type)
                           : CheckRelation(module, bound, what, diagnostics);
    if (may_be_used) {
      exprs.ExpectInt(bound, what);
    }
  }
  if (diagnostics.error_count() != before) {
    return;
  }
  for (const Sizes& sizes : SampleSizes(module)) {
    auto lo = EvaluateInt(module, tensor.value_lo, sizes.dims, sizes.ranges);
    auto hi = EvaluateInt(module, tensor.value_hi, sizes.dims, sizes.ranges);
    auto empty = [&](ExprId extent) {
      return EvaluateInt(module, extent, sizes.dims, sizes.ranges) == 0;
    };
    bool no_elements = std::any_of(tensor.shape.begin(), tensor.shape.end(), empty);
    if (lo && hi && *lo >= *hi && !no_elements) {
      diagnostics.Error(
          DiagnosticKind::Type, module.RangeOf(tensor.value_hi),
          fmt::format("{} is empty: it is {} .. {}, without its upper end", what, *lo, *hi));
      return;
    }
    auto of_type = RangeOfType(tensor.type);
    if (lo && hi && of_type && !no_elements && (*lo > of_type->hi || *hi <= of_type->lo)) {
      diagnostics.Error(DiagnosticKind::Type, module.RangeOf(tensor.value_lo),
                        fmt::format("no {} is in {}: it is {} .. {}, without its upper end",
                                    Spelling(tensor.type), what, *lo, *hi));
      return;
    }
  }
}

/// Element e of a tensor of one axis is how many elements of another are e.
void CheckCounts(const Module& module, const Tensor& tensor, Diagnostics& diagnostics) {
  const Tensor& counted = module.tensors[tensor.counts];
  auto error = [&](const std::string& text) {
    diagnostics.Error(DiagnosticKind::Type, tensor.range, text);
  };
  if (KindOf(tensor.type) != ValueKind::Int || tensor.shape.size() != 1) {
    error(
        fmt::format("only a tensor of integers with one axis counts another's elements, but "
                    "`%{}` is {} of {} axes",
                    tensor.name, Spelling(tensor.type), tensor.shape.size()));
  } else if (KindOf(counted.type) != ValueKind::Int) {
    error(fmt::format("`%{}` counts integers, but `%{}` is {}", tensor.name, counted.name,
                      Spelling(counted.type)));
  } else if (counted.access != Access::In) {
    error(fmt::format("`%{}` counts the elements of an `in` parameter, but `%{}` is {}",
                      tensor.name, counted.name, Describe(counted)));
  }
}

/// Preconditions about the elements together.
void CheckElements(const Tensor& tensor, Diagnostics& diagnostics) {
  for (const auto& [promised, word] :
       {std::pair{tensor.distinct, "distinct"}, std::pair{tensor.monotone, "monotone"}}) {
    if (!promised) {
      continue;
    }
    if (KindOf(tensor.type) != ValueKind::Int) {
      diagnostics.Error(DiagnosticKind::Type, tensor.range,
                        fmt::format("only a tensor of integers can be `{}`, but `%{}` is {}", word,
                                    tensor.name, Spelling(tensor.type)));
    } else if (tensor.shape.empty()) {
      diagnostics.Error(
          DiagnosticKind::Type, tensor.range,
          fmt::format("`%{}` has one element, so it cannot be `{}`", tensor.name, word));
    }
  }
}

}  // namespace

/// A word of a flagged buffer has 4 bytes of data, in one row.
void CheckFlagged(const Module& module, const Tensor& tensor, Diagnostics& diagnostics) {
  bool words = tensor.type == DType::F32 || tensor.type == DType::I32;
  if (!tensor.tile.empty() || (!words && tensor.type != DType::BF16)) {
    diagnostics.Error(DiagnosticKind::Type, tensor.range,
                      fmt::format("`%{}` is flagged, so it must be a row-major tensor of `f32`, "
                                  "`i32` or `bf16`",
                                  tensor.name));
  } else if (tensor.type == DType::BF16 &&
             (tensor.shape.empty() || !IsMultiple(module, tensor.shape.back(), 2))) {
    diagnostics.Error(
        DiagnosticKind::Shape, tensor.range,
        fmt::format("`%{}` is flagged, so its last extent must be even", tensor.name));
  }
}

namespace {

/// Offsets of elements are counted in 64 bits.
void CheckBytes(const Module& module, const Tensor& tensor, Diagnostics& diagnostics) {
  int64_t bytes = SizeInBytes(tensor.type);
  for (ExprId extent : tensor.shape) {
    auto constant = EvaluateInt(module, extent, {});
    if (constant && __builtin_mul_overflow(bytes, std::max<int64_t>(*constant, 1), &bytes)) {
      diagnostics.Error(DiagnosticKind::Shape, tensor.range,
                        fmt::format("`%{}` has 2^63 bytes or more", tensor.name));
      return;
    }
  }
}

}  // namespace

/// The parts are equal. For one number of ranks.
void CheckShard(const Module& module, const Tensor& tensor, Diagnostics& diagnostics) {
  const ExprId whole = WholeExtent(module, tensor);
  auto parts = EvaluateInt(module, PartsOf(module, tensor), {});
  if (parts && !IsMultiple(module, whole, *parts)) {
    auto constant = EvaluateInt(module, whole, {});
    bool literal = std::holds_alternative<IntLiteral>(module.exprs[whole]);
    diagnostics.Error(DiagnosticKind::Mesh, module.RangeOf(tensor.shape[*tensor.shard]),
                      fmt::format("dimension {} of `%{}` is `{}`{}, {}a multiple of {} {}",
                                  *tensor.shard, tensor.name, Print(module, whole),
                                  constant && !literal ? fmt::format(" = {}", *constant) : "",
                                  constant ? "not " : "not at every size ", *parts,
                                  tensor.in_parts ? "parts" : "ranks"));
  }
}

void CheckTensor(const Module& module, const Tensor& tensor, ExprChecker& exprs,
                 Diagnostics& diagnostics) {
  for (ExprId extent : tensor.shape) {
    CheckExtent(module, tensor, extent, exprs, diagnostics);
  }
  CheckBytes(module, tensor, diagnostics);
  if (!tensor.tile.empty()) {
    CheckLayout(module, tensor, exprs, diagnostics);
  }
  CheckPreconditions(module, tensor, exprs, diagnostics);
  if (tensor.shard) {
    CheckShard(module, tensor, diagnostics);
  }
  if (tensor.flagged) {
    CheckFlagged(module, tensor, diagnostics);
  }
  if (tensor.phased) {
    CheckPhased(module, tensor, diagnostics);
  }
}

void CheckPreconditions(const Module& module, const Tensor& tensor, ExprChecker& exprs,
                        Diagnostics& diagnostics) {
  if (tensor.value_lo) {
    CheckValueRange(module, tensor, exprs, diagnostics);
  }
  CheckElements(tensor, diagnostics);
  if (tensor.counts) {
    CheckCounts(module, tensor, diagnostics);
  }
}

}  // namespace etc
