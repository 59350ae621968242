// Whether two reductions have the same value by the same words.
#pragma once

#include "ir/module.h"

namespace etc {

/// Whether both are the same but for the names of their variables, at places that have the same
/// names around them. False where that is not seen, as in reductions of reductions.
bool SameReductions(const Module& module, const Reduce& a, const Reduce& b);

}  // namespace etc
