// C++ text of a kernel's loop nest, which every SM and every role walks.
#pragma once

#include <string>

#include "emit/cxx_kernel.h"
#include "target/arch.h"

namespace etc {

/// The nest for one role, over `Impl_NAME` of each device function. The loader walks only the
/// shares whose implementation for `arch` preloads operands.
void WriteWalk(TextWriter& out, const KernelScope& scope, Role role, Arch arch);

/// What one role does in a launch of a kernel of the schedule `kernels`.
void WriteLaunch(TextWriter& out, const KernelScope& scope, const RaisedLaunch& launch, Role role,
                 Arch arch);

}  // namespace etc
