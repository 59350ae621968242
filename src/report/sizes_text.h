// The sizes that a report is about.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// `, batch = 8, max_pages = 1 (the least)`, where `given` has the sizes that somebody asked for.
[[nodiscard]] std::string SizesText(const Module& module, const Kernel& kernel, const Env& sizes,
                                    const std::map<std::string, int64_t>& given);

}  // namespace etc
