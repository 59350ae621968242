// CUDA text of a kernel's entries: the `__global__` functions, which split a CTA into roles.
#pragma once

#include "emit/raise/raised.h"
#include "emit/text_writer.h"

namespace etc {

/// The entry of a persistent kernel, or one for each launch, over what the kernel's namespace has.
void WriteEntries(TextWriter& out, const RaisedKernel& kernel);

}  // namespace etc
