#include "compile/sizes.h"

#include <fmt/format.h>

#include "ir/printer.h"
#include "ir/requirements.h"

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
        text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", module.symbols[dim].name,
                            given->second);
      }
    }
    diagnostics.Error(DiagnosticKind::CommandLine, module.RangeOf(condition),
                      fmt::format("the program requires `{}`, which does not hold for {}",
                                  Print(module, condition), text));
    ok = false;
  }
  return ok;
}

}  // namespace etc
