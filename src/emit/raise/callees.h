// The device functions that a kernel runs, and what it passes to them.
#pragma once

#include <set>
#include <vector>

#include "ir/module.h"

namespace etc {

/// The device functions that a kernel runs, each once, in the order of their first share.
std::vector<DeviceId> DevicesOf(const Module& module, const Kernel& kernel);

/// The parameters of device functions that are bound to flagged buffers in a kernel.
std::set<TensorId> ParamsWithFlags(const Module& module, const Kernel& kernel, bool Tensor::*flags);

/// The parameters of device functions to which a kernel passes tensors that it computes, and those
/// whose promises are about such tensors.
std::set<TensorId> ComputedParams(const Module& module, const Kernel& kernel);

}  // namespace etc
