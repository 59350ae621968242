// The symbols by which a binary exports a kernel: one entry, or one for each launch.
#pragma once

#include <string>

#include "ir/module.h"

namespace etc {

/// The symbol of a persistent kernel; the prefix keeps it apart from every name of C.
std::string EntryName(const Kernel& kernel);

/// The symbol of launch number `index` of a kernel, which is of this share.
std::string LaunchName(const Module& module, const Kernel& kernel, size_t index,
                       const Share& share);

/// The symbol of the launch that comes before all others of a kernel, and checks what they rely on.
std::string CheckName(const Module& module, const Kernel& kernel);

}  // namespace etc
