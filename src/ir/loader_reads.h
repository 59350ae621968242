// What a loader reads behind a wait: preloaded operands that the launch computes.
#pragma once

#include "ir/module.h"

namespace etc {

/// Whether an implementation's loader reads the parameter behind the waits for it, not ahead of
/// all: it is preloaded, bound to a buffer or an output, which the launch itself fills, and of i32,
/// or of f32 beside other preloaded operands. So it can say which elements of those are to be
/// copied.
bool IsReadBehindWait(const Module& module, const Device& device, TensorId param,
                      TensorId argument);

/// Whether the loader of calls or shares of a device reads anything behind a wait. Then the
/// consumers take what it read once for all of their tasks, and look ahead from one to the next: no
/// task may have a wait of its own.
bool LoadsBehindWait(const Module& module, const Device& device, const std::vector<Argument>& args);

}  // namespace etc
