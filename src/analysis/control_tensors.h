// Tensors that say which tasks of a kernel run and what they wait for and notify.
#pragma once

#include <set>

#include "ir/module.h"

namespace etc {

/// The tensors that task ranges, and counts, elements and conditions of events are read from.
std::set<TensorId> ControlTensors(const Module& module, const Kernel& kernel);

}  // namespace etc
