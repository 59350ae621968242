// Checks texts from files, and a number of damaged variants of each: the part of fuzzing that every
// test run does.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "check_text.h"
#include "mutations.h"

namespace {

bool Check(const std::string& name, const std::string& text) {
  std::string problem = etc::CheckText(text);
  if (!problem.empty()) {
    std::fprintf(stderr, "%s: %s\n--- the text:\n%s\n", name.c_str(), problem.c_str(),
                 text.c_str());
  }
  return problem.empty();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: mutation_test COUNT FILE...\n");
    return 2;
  }
  auto count = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  bool ok = true;
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    std::stringstream contents;
    contents << file.rdbuf();
    if (!file) {
      std::fprintf(stderr, "%s: cannot be read\n", argv[i]);
      return 2;
    }
    std::string text = contents.str();
    ok = Check(argv[i], text) && ok;
    for (unsigned number = 0; number < count && ok; ++number) {
      ok = Check(std::string(argv[i]) + ", mutation " + std::to_string(number),
                 etc::Mutate(text, number));
    }
  }
  return ok ? 0 : 1;
}
