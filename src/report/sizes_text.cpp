#include "report/sizes_text.h"

#include <fmt/format.h>

namespace etc {

std::string SizesText(const Module& module, const Kernel& kernel, const Env& sizes,
                      const std::map<std::string, int64_t>& given) {
  const DimRanges ranges = RangesOf(module, kernel);
  std::string text;
  for (const auto& [dim, value] : sizes) {
    const std::string& name = module.symbols[dim].name;
    text += fmt::format(", {} = {}", name, value);
    const auto range = RangeOfDim(module, dim, ranges);
    const bool is_only = range && range->lo == range->hi;
    if (!given.contains(name) && !is_only) {
      text += range && range->lo == value ? " (the least)" : " (by default)";
    }
  }
  return text;
}

}  // namespace etc
