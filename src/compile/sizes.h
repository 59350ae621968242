// Values that the command line gives to the dimensions of a source.
#pragma once

#include <cstdint>
#include <map>
#include <string>
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

/// Leaves of each specialised graph the one range that holds the sizes, by dimension: the others
/// need not be built to run it. A graph stays as it is where the sizes leave several ranges, and
/// where something is wrong with them.
void KeepRangesOf(Module& module, const std::map<std::string, int64_t>& sizes);

}  // namespace etc
