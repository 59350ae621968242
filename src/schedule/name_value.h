// Names for what a kernel computes once.
#pragma once

#include <string>

#include "ir/module.h"

namespace etc {

/// A use of a new value of the kernel, `let NAME = VALUE;`; the value itself where that is as
/// short: a literal, or a name already.
ExprId NameValue(Module& module, Kernel& kernel, const std::string& name, ExprId value);

/// Puts each value that is used once in the place of its use.
void InlineSingleUses(Module& module, Kernel& kernel);

}  // namespace etc
