// Runs the tests of tests/gpu on the emulated device: those named on the command line.
#include <functional>
#include <map>

#include "attention_rows_test.cuh"
#include "attention_test.cuh"
#include "flagged_test.cuh"
#include "moe_lists_test.cuh"
#include "moe_many_test.cuh"
#include "moe_test.cuh"
#include "post_norm_gemm_test.cuh"
#include "post_norm_test.cuh"
#include "sampling_test.cuh"
#include "skinny_gemm_test.cuh"
#include "small_ops_test.cuh"
#include "split_k_test.cuh"
#include "swap_ab_gemm_test.cuh"

int main(int argc, char** argv) {
  using namespace etc::test;
  const std::map<std::string, void (*)(Report&)> tests = {
#define TILE_TEST(name, header, function) {#name, function},
#include "tile_tests.def"
#undef TILE_TEST
  };
  Report report;
  for (int i = 1; i < argc; ++i) {
    const auto test = tests.find(argv[i]);
    if (test == tests.end()) {
      std::printf("no test is named `%s`\n", argv[i]);
      return 2;
    }
    test->second(report);
  }
  std::printf("%d checks passed, %d failed\n", report.passed, report.failed);
  return report.failed == 0 && report.passed > 0 ? 0 : 1;
}
