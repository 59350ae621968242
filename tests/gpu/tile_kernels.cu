// Runs every tile kernel inside a minimal persistent kernel against a CPU reference in double; with
// `--time` it also prints what they reach. Exit status 1 when a check failed.
#include "attention_rows_test.cuh"
#include "attention_test.cuh"
#include "flagged_test.cuh"
#include "moe_lists_test.cuh"
#include "moe_many_test.cuh"
#include "moe_test.cuh"
#include "post_norm_test.cuh"
#include "sampling_test.cuh"
#include "skinny_gemm_test.cuh"
#include "small_ops_test.cuh"
#include "split_k_test.cuh"
#include "swap_ab_gemm_test.cuh"
#include "swap_ab_timing.cuh"
#include "timing.cuh"

int main(int argc, char** argv) {
  using namespace etc::test;
  // A line at a time, so that what was printed before a time limit is seen.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Report report;
  TestArgMax(report);
  TestNormGate(report);
  TestPostNorm(report);
  TestStreamMax(report);
  TestSampling(report);
  TestGemms(report);
  TestGemmsInTiles(report);
  TestRaggedGemms(report);
  TestSingleGemms(report);
  TestSwapAbGemms(report);
  TestLargeSwapAbGemms(report);
  TestSplitKProjections(report);
  TestLargeSplitKProjections(report);
  TestAttentions(report);
  TestAttentionSizes(report);
  TestAttentionWindows(report);
  TestRows(report);
  TestRowsWindows(report);
  TestFlagged(report);
  TestLargeFlagged(report);
  TestMoe(report);
  TestMoeLists(report);
  TestManyTokens(report);
  std::printf("%d checks passed, %d failed\n", report.passed, report.failed);
  if (argc > 1 && std::string(argv[1]) == "--time") {
    TimeAll(report);
    TimeProjections<32>();
    TimeProjections<128>();
  }
  return report.failed == 0 ? 0 : 1;
}
