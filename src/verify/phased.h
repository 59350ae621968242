// Phased buffers, and the events `via words` that say when they are there.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// A phased buffer has words of floats.
void CheckPhased(const Module& module, const Tensor& tensor, Diagnostics& diagnostics);

/// What the kernel's text shows of them: each phased buffer has one event, and nothing keeps that
/// from being `via words`.
void CheckWords(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace etc
