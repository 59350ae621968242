// Checks that hold for every well-formed module; see verify.cpp for the list of invariants.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Reports every violated invariant; false when there was one. Changes nothing.
[[nodiscard]] bool Verify(const Module& module, Diagnostics& diagnostics);

}  // namespace etc
