// Ahead of the text of an emitted program: what makes its kernels entries of the emulated driver.
#pragma once

#include <cuda_runtime.h>

/// The driver finds a kernel by this symbol, and gives it where its arguments stand.
#define ETC_EMULATED_ENTRY(kernel)                                                        \
  extern "C" void etc_emulated_##kernel(void** arguments, std::function<void()>* bound) { \
    *bound = etc::emulator::Bound(kernel, arguments);                                     \
  }
