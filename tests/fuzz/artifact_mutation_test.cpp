// Damaged manifests and artifacts in one file, the same in every run: a number of each, or as many
// as a time allows.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "check_artifact.h"
#include "mutations.h"
#include "runtime/container.h"
#include "runtime/manifest_seal.h"

namespace {

using Clock = std::chrono::steady_clock;

int Fail(const std::string& name, unsigned number, const std::string& problem,
         const std::string& input) {
  std::fprintf(stderr, "%s, mutation %u: %s\n--- the input:\n", name.c_str(), number,
               problem.c_str());
  std::fwrite(input.data(), 1, input.size(), stderr);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: artifact_mutation_test COUNT|SECONDSs FILE...\n");
    return 2;
  }
  const std::string amount = argv[1];
  const bool by_time = amount.back() == 's';
  const long limit = std::strtol(argv[1], nullptr, 10);
  const auto begin = Clock::now();
  const auto goes_on = [&](unsigned number) {
    return by_time ? Clock::now() - begin < std::chrono::seconds(limit)
                   : static_cast<long>(number) < limit;
  };
  unsigned number = 0;
  for (; goes_on(number); ++number) {
    for (int i = 2; i < argc; ++i) {
      std::ifstream file(argv[i], std::ios::binary);
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      if (text.empty()) {
        std::fprintf(stderr, "%s: cannot be read\n", argv[i]);
        return 2;
      }
      const std::string manifest = number == 0 ? text : etc::MutateJson(text, number);
      if (std::string problem = etc::CheckManifestText(manifest); !problem.empty()) {
        return Fail(argv[i], number, problem, manifest);
      }
      std::string container = etc::runtime::WriteContainer(text, "binary");
      container = number == 0 ? container : etc::MutateBytes(container, number);
      if (std::string problem = etc::CheckContainer(container); !problem.empty()) {
        return Fail(argv[i], number, problem, container);
      }
    }
  }
  std::printf("%u mutations of each of %d files\n", number, argc - 2);
  return 0;
}
