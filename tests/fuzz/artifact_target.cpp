// The entry of libFuzzer for artifacts: build with clang++ and -DETC_FUZZER=ON, run with manifests
// as the corpus.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "check_artifact.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  for (const std::string& problem : {etc::CheckManifestText(input), etc::CheckContainer(input)}) {
    if (!problem.empty()) {
      std::fputs(problem.c_str(), stderr);
      std::abort();
    }
  }
  return 0;
}
