// Ahead of the text of an emitted program: what makes its kernels entries of the emulated driver.
#pragma once

#include <cuda_runtime.h>

/// The driver finds a kernel by this symbol, and calls it with where its arguments stand.
#define ETC_EMULATED_ENTRY(kernel)                                            \
  extern "C" void etc_emulated_##kernel(void** arguments) {                   \
    etc::emulator::Call(kernel, arguments, std::index_sequence_for<void*>{}); \
  }
