#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "target/arch.h"
#include "verify/checks.h"
#include "verify/expr_checker.h"
#include "verify/wording.h"

namespace etc {
namespace {

bool IsKnownGpu(std::string_view arch) {
  auto known = ArchOf(arch);
  return known && *known != Arch::Host;
}

bool HasValue(const Module& module, ExprId id) {
  switch (KindOf(module, id)) {
    case ValueKind::Int:
      return EvaluateInt(module, id, {}).has_value();
    case ValueKind::Float:
    case ValueKind::Double:
      return EvaluateFloat(module, id, {}).has_value();
    case ValueKind::Bool:
      return EvaluateBool(module, id, {}).has_value();
    case ValueKind::Error:
      break;
  }
  return false;
}

/// Whether it is made of constants, dimensions and the ends of their ranges, and has a value in
/// each kernel.
bool IsConstant(const Module& module, ExprChecker& exprs, ExprId id, const std::string& what,
                Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  exprs.CheckClosed(id, false, what, DiagnosticKind::Impl);
  if (diagnostics.error_count() != before || exprs.Check(id) == ValueKind::Error) {
    return false;
  }
  if (!HasValue(module, id)) {
    diagnostics.Error(
        DiagnosticKind::Impl, module.RangeOf(id),
        fmt::format("{} must have a constant value, but `{}` has none", what, Print(module, id)));
    return false;
  }
  return true;
}

void CheckArgs(const Module& module, const Impl& impl, Diagnostics& diagnostics) {
  ExprChecker exprs(module, diagnostics);
  exprs.LeaveOperands();
  std::set<std::string> names;
  for (const ImplArg& arg : impl.args) {
    if (!names.insert(arg.name).second) {
      diagnostics.Error(
          DiagnosticKind::Impl, impl.range,
          fmt::format("the argument `{}` of `{}` is given twice", arg.name, impl.name));
    }
    if (arg.value) {
      (void)IsConstant(module, exprs, arg.value,
                       fmt::format("the argument `{}` of `{}`", arg.name, impl.name), diagnostics);
    }
  }
  constexpr const char* kCondition = "the condition behind `flagged`";
  if (impl.flagged_if && IsConstant(module, exprs, impl.flagged_if, kCondition, diagnostics)) {
    exprs.ExpectBool(impl.flagged_if, kCondition);
  }
}

bool Lists(const std::vector<TensorId>& operands, TensorId id) {
  return std::find(operands.begin(), operands.end(), id) != operands.end();
}

/// Behind the waits of a task its loader copies what the task reads, and nothing else.
void CheckFetched(const Module& module, const Impl& impl, Diagnostics& diagnostics) {
  for (TensorId id : impl.fetched) {
    const Tensor& tensor = module.tensors[id];
    if (tensor.kind != TensorKind::Param || tensor.access != Access::In) {
      diagnostics
          .Error(DiagnosticKind::Impl, impl.range,
                 fmt::format("`fetched` names `%{}`, which is no `in` parameter", tensor.name))
          .notes.push_back(DeclaredHere(tensor));
    } else if (Lists(impl.preloaded, id) || Lists(impl.flagged, id)) {
      diagnostics.Error(
          DiagnosticKind::Impl, impl.range,
          fmt::format("`%{}` is fetched behind the waits of a task, so it can be neither preloaded "
                      "nor flagged",
                      tensor.name));
    }
  }
}

/// What is wrong with a box of whole tiles, in words.
std::string WhatTilesLack(const Module& module, const Tensor& tensor, int64_t rows,
                          int64_t columns) {
  auto tile_rows = EvaluateInt(module, tensor.tile[0], {});
  auto tile_columns = EvaluateInt(module, tensor.tile[1], {});
  if (!tile_rows || !tile_columns || *tile_rows < 1 || *tile_columns < 1) {
    return {};  // an error of its own
  }
  if (rows % *tile_rows != 0 || columns < 1 || columns % *tile_columns != 0) {
    return fmt::format("whose extents must be multiples of those of its tile, {} and {}",
                       *tile_rows, *tile_columns);
  }
  if (*tile_rows * *tile_columns * SizeInBytes(tensor.type) % 16 != 0) {
    return "a tile of which must have a multiple of 16 bytes";
  }
  // Up to 128 bytes the copy engine would swizzle them, as it does a row of a row-major operand.
  int64_t bytes = *tile_rows * columns * SizeInBytes(tensor.type);
  if (bytes <= 128 || bytes > 2048) {
    return fmt::format("a row of whose tiles has {} bytes, but must have more than 128, up to 2048",
                       bytes);
  }
  return {};
}

/// What a box is of, in words, where it can be none of a tensor copy.
std::string WhatBoxLacks(const Module& module, const Impl& impl, const Box& box) {
  const Tensor& tensor = module.tensors[box.tensor];
  auto rows = EvaluateInt(module, box.rows, {}), columns = EvaluateInt(module, box.columns, {});
  if (!Lists(impl.preloaded, box.tensor) && !Lists(impl.fetched, box.tensor)) {
    return "which is neither preloaded nor fetched";
  }
  if (tensor.shape.size() < 2) {
    return "which is no tensor of two axes or more";
  }
  if (!rows || !columns) {
    return "whose extents must have constant values";
  }
  if (*rows < 1 || *rows > 256) {
    return fmt::format("which has {} rows, but must have 1 to 256", *rows);
  }
  if (!tensor.tile.empty()) {
    return WhatTilesLack(module, tensor, *rows, *columns);
  }
  int64_t bytes = *columns * SizeInBytes(tensor.type);
  if (bytes != 32 && bytes != 64 && bytes != 128) {
    return fmt::format("a row of which has {} bytes, but must have 32, 64 or 128", bytes);
  }
  return {};
}

void CheckBoxes(const Module& module, const Impl& impl, Diagnostics& diagnostics) {
  ExprChecker exprs(module, diagnostics);
  exprs.LeaveOperands();
  std::set<TensorId> seen;
  for (const Box& box : impl.boxes) {
    const Tensor& tensor = module.tensors[box.tensor];
    size_t before = diagnostics.error_count();
    for (ExprId extent : {box.rows, box.columns}) {
      exprs.CheckClosed(extent, false, fmt::format("the box of `%{}`", tensor.name),
                        DiagnosticKind::Impl);
      exprs.ExpectInt(extent, "an extent of a box");
    }
    if (diagnostics.error_count() != before) {
      continue;
    }
    std::string lacks = WhatBoxLacks(module, impl, box);
    if (lacks.empty() && !seen.insert(box.tensor).second) {
      lacks = "which has a box already";
    }
    if (!lacks.empty()) {
      diagnostics
          .Error(DiagnosticKind::Impl, impl.range,
                 fmt::format("`boxes` has a box of `%{}`, {}", tensor.name, lacks))
          .notes.push_back(DeclaredHere(tensor));
    }
  }
}

}  // namespace

void CheckImpls(const Module& module, const Device& device, Diagnostics& diagnostics) {
  std::map<std::string, SourceRange> archs;
  for (const Impl& impl : device.impls) {
    if (!IsKnownGpu(impl.arch)) {
      diagnostics.Error(DiagnosticKind::Impl, impl.range,
                        fmt::format("`{}` is not a known architecture; known is `{}`", impl.arch,
                                    Spelling(Arch::Sm90a)));
    }
    auto [first, is_new] = archs.emplace(impl.arch, impl.range);
    if (!is_new) {
      diagnostics
          .Error(DiagnosticKind::Impl, impl.range,
                 fmt::format("`@{}` has a second implementation for `{}`", device.name, impl.arch))
          .notes.push_back({first->second, "the first one is here"});
    }
    for (TensorId id : impl.preloaded) {
      const Tensor& tensor = module.tensors[id];
      if (tensor.kind != TensorKind::Param || tensor.access == Access::Out) {
        diagnostics
            .Error(DiagnosticKind::Impl, impl.range,
                   fmt::format("`preloaded` names `%{}`, which the task only writes; an `in` "
                               "or `inout` parameter can be copied ahead",
                               tensor.name))
            .notes.push_back(DeclaredHere(tensor));
      }
    }
    for (const auto& [word, operands] :
         {std::pair("flagged", &impl.flagged), {"phased", &impl.phased}}) {
      for (TensorId id : *operands) {
        const Tensor& tensor = module.tensors[id];
        if (tensor.kind != TensorKind::Param || tensor.access == Access::InOut) {
          diagnostics
              .Error(DiagnosticKind::Impl, impl.range,
                     fmt::format("`{0}` names `%{1}`, which is both read and written; only an `in` "
                                 "or `out` parameter can be {0}",
                                 word, tensor.name))
              .notes.push_back(DeclaredHere(tensor));
        }
      }
    }
    CheckFetched(module, impl, diagnostics);
    CheckBoxes(module, impl, diagnostics);
    CheckArgs(module, impl, diagnostics);
  }
}

}  // namespace etc
