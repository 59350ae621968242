// The entry of libFuzzer: build with clang++ and -DETC_FUZZER=ON, run with tests/golden or
// ir-examples as the corpus.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "check_text.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  std::string problem = etc::CheckText({reinterpret_cast<const char*>(data), size});
  if (!problem.empty()) {
    std::fputs(problem.c_str(), stderr);
    std::abort();
  }
  return 0;
}
