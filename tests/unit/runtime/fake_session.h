// The stand-in for the CUDA driver, opened and in its first state.
#pragma once

#include <dlfcn.h>

#include <stdexcept>

#include "runtime/fake_cuda.h"

namespace etc::test {

/// The runtime opens libcuda.so.1 by name and so gets the library that is open under this soname.
inline FakeCuda& OpenFakeCuda() {
  static void* library = dlopen(ETC_TEST_FAKE_CUDA, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    throw std::runtime_error(dlerror());
  }
  auto get = reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "etc_fake_cuda"));
  FakeCuda& fake = *get();
  fake = {};
  return fake;
}

}  // namespace etc::test
