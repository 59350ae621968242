// Tensors that say which tasks of a kernel run and what they wait for and notify.
#pragma once

#include <set>

#include "analysis/program.h"

namespace etc {

/// The tensors that task ranges, and counts, elements and conditions of events are read from, of a
/// kernel.
std::set<TensorId> ControlTensors(const Module& module, const CallProgram& program);

}  // namespace etc
