// What `--resource-usage` says and refuses.
#pragma once

#include "compile/options.h"
#include "compile/session.h"
#include "ir/module.h"
#include "toolchain/resources.h"

namespace etc {

/// Two lines for each kernel.
[[nodiscard]] std::string ResourceText(const Module& module,
                                       const std::vector<KernelResources>& kernels);

/// Reports [spill] errors for the kernels that use local memory in inner loops.
[[nodiscard]] bool CheckSpills(const std::vector<KernelResources>& kernels,
                               Diagnostics& diagnostics);

}  // namespace etc
