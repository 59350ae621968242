// Values that the command line gives to the dimensions of a source.
#pragma once

#include <string_view>

#include "ir/evaluate.h"
#include "support/diagnostics.h"

namespace etc {

/// Reports a value that is outside of the dimension's range, or not of its multiple; `option` gave
/// it.
bool CheckSize(const Module& module, SymbolId dim, int64_t value, std::string_view option,
               Diagnostics& diagnostics);

/// Reports requirements between dimensions that sizes do not fulfil, as far as these decide them.
bool CheckRequirements(const Module& module, const Env& sizes, Diagnostics& diagnostics);

}  // namespace etc
