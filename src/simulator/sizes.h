// Sizes at which a kernel is looked at where nobody gives them.
#pragma once

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// The least sizes that a kernel serves, at which its chain counts most: its throttle is chosen
/// there.
Env LeastSizes(const Module& module, const Kernel& kernel, const Env& given = {});

/// The least or the largest sizes of the ranges that a kernel is specialised for; of the other
/// dimensions a few: of a cache of pages, so many as a context of a thousand positions has.
Env TypicalSizes(const Module& module, const Kernel& kernel, bool largest);

}  // namespace etc
