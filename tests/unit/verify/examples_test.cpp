#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/override.h"
#include "verified.h"

namespace etc {
namespace {

std::string ReadExample(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("every example is valid") {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ETC_EXAMPLES)) {
    if (entry.path().extension() == ".etir") {
      Verified verified = VerifyText(ReadExample(entry.path()), ETC_EXAMPLES "/../kernels");
      INFO(entry.path().string(), "\n", verified.report);
      CHECK(verified.ok);
      ++examples;
    }
  }
  CHECK(examples > 0);
}

TEST_CASE("a model of 64 layers is verified in no time") {
  Verified verified = VerifyText(
      ReadExample(std::filesystem::path(ETC_EXAMPLES) / "../tests/programs/qwen3_by_hand.etir"));
  REQUIRE(verified.ok);
  Module& module = *verified.module;
  Diagnostics diagnostics;
  REQUIRE(OverrideConstants(module,
                            {{"hidden_size", int64_t{5120}, "32B", false},
                             {"num_hidden_layers", int64_t{64}, "32B", false},
                             {"num_attention_heads", int64_t{64}, "32B", false},
                             {"num_key_value_heads", int64_t{8}, "32B", false},
                             {"intermediate_size", int64_t{25600}, "32B", false}},
                            diagnostics));
  auto start = std::chrono::steady_clock::now();
  CHECK(Verify(module, diagnostics));
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  // About 20 ms in a release build; the bound is for sanitizers on a busy machine.
  CHECK(took.count() < 5);
}

}  // namespace
}  // namespace etc
