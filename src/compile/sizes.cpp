#include "compile/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/printer.h"
#include "ir/requirements.h"
#include "verify/verify.h"

namespace etc {

bool CheckSize(const Module& module, SymbolId dim, int64_t value, std::string_view option,
               Diagnostics& diagnostics) {
  const Symbol& symbol = module.symbols[dim];
  auto range = RangeOfDim(module, dim);
  int64_t multiple = symbol.multiple ? EvaluateInt(module, symbol.multiple, {}).value_or(1) : 1;
  std::string problem;
  if (!range) {
    problem = "has no range to be in";
  } else if (value < range->lo || value > range->hi) {
    problem = fmt::format("is not in {}..{}", range->lo, range->hi);
  } else if (value % multiple != 0) {
    problem = fmt::format("is not a multiple of {}", multiple);
  } else {
    return true;
  }
  diagnostics.Error(DiagnosticKind::CommandLine, symbol.range,
                    fmt::format("`{} {}={}` {}", option, symbol.name, value, problem));
  return false;
}

bool CheckRequirements(const Module& module, const Env& sizes, Diagnostics& diagnostics) {
  bool ok = true;
  for (ExprId condition : LaunchRequirements(module)) {
    if (DependsOnRange(module, condition) || EvaluateBool(module, condition, sizes) != false) {
      continue;
    }
    std::string text;
    for (SymbolId dim : DimsIn(module, condition)) {
      if (auto given = sizes.find(dim); given != sizes.end()) {
        text += fmt::format("{}{} = {}", text.empty() ? " for " : ", ", module.symbols[dim].name,
                            given->second);
      }
    }
    diagnostics.Error(DiagnosticKind::CommandLine, module.RangeOf(condition),
                      fmt::format("the program requires `{}`, which does not hold{}",
                                  Print(module, condition), text));
    ok = false;
  }
  return ok;
}

void KeepRangesOf(Module& module, const std::map<std::string, int64_t>& sizes) {
  auto size_of = [&](SymbolId dim) {
    auto size = sizes.find(module.symbols[dim].name);
    return size != sizes.end() ? std::optional(size->second) : std::nullopt;
  };
  auto is_outside = [&](const Where& where) {
    auto size = size_of(where.dim);
    auto lo = EvaluateInt(module, where.lo, {});
    auto hi = EvaluateInt(module, where.hi, {});
    return size && lo && hi && (*size < *lo || *size > *hi);
  };
  const bool has_kernels_of_ranks = module.mesh && module.mesh->values.size() > 1;
  for (const Item& item : module.items) {
    const auto* id = std::get_if<GraphId>(&item);
    if (id == nullptr || sizes.empty() || has_kernels_of_ranks ||
        module.graphs[*id].specialisations.empty()) {
      continue;
    }
    std::vector<std::vector<Where>> wheres = WheresOf(module, module.graphs[*id]);
    std::erase_if(wheres, [&](const std::vector<Where>& where) {
      return std::any_of(where.begin(), where.end(), is_outside);
    });
    Diagnostics reported_later;
    if (wheres.size() == 1 && VerifySpecialisation(module, module.graphs[*id], reported_later)) {
      Narrow(module, module.graphs[*id], wheres.front());
    }
  }
}

}  // namespace etc
