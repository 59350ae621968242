// Names for what a kernel computes once.
#pragma once

#include <string>

#include "ir/module.h"

namespace etc {

/// Makes a new value of the kernel, `let NAME = VALUE;`, and yields a use of it. A literal or a
/// name is as short as that, and stays what it is.
ExprId NameValue(Module& module, Kernel& kernel, const std::string& name, ExprId value);

/// Puts each value that is used once in the place of its use.
void InlineSingleUses(Module& module, Kernel& kernel);

}  // namespace etc
