#include "driver/sizes.h"

#include <fmt/format.h>

#include "ir/evaluate.h"

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
    problem = fmt::format("is no multiple of {}", multiple);
  } else {
    return true;
  }
  diagnostics.Error(DiagnosticKind::CommandLine, symbol.range,
                    fmt::format("`{} {}={}` {}", option, symbol.name, value, problem));
  return false;
}

}  // namespace etc
