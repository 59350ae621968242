// Whether two references to events name the same elements by the same words.
#pragma once

#include "ir/module.h"

namespace etc {

/// Whether both have the same indices, `for` and `if`, but for the names of the variables of the
/// `for`. The events may be others. False where that is not seen.
bool SameElements(const Module& module, const EventRef& a, const EventRef& b);

}  // namespace etc
