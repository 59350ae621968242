// WideGemm against sums in double, and what it reaches.
#pragma once

#include "stream_gemm_test.cuh"
#include "tile/wide_gemm.cuh"

namespace etc::test {

template <int depth, int outputs, int rows, int max_batch, class Epilogue, class Weights, bool norm,
          class Output>
struct WideCase : GemmCase<depth, outputs, rows, max_batch, Epilogue, Weights, norm, false, Output,
                           0, true, WideGemm> {
  static constexpr bool kNormsWeights = true;
};

inline void TestWideGemms(Report& report) {
  using F = float;
  using H = bf16;
  TestGemm<WideCase<256, 2112, 64, 16, store, plain, false, F>>(report, "wide k256", {1, 9, 16});
  TestGemm<WideCase<1024, 2496, 64, 16, store, qkv, true, H>>(report, "wide k1024 qkv norm",
                                                              {9, 16});
  TestGemm<WideCase<1024, 1024, 64, 32, residual, plain, false, H>>(report, "wide k1024 residual",
                                                                    {16, 17, 32});
  TestGemm<WideCase<2048, 2432, 64, 32, store, qkv, true, H>>(report, "wide k2048 qkv norm",
                                                              {17, 32});
  TestGemm<WideCase<1024, 1208, 64, 32, silu_mul, plain, true, H>>(report, "wide k1024 norm silu",
                                                                   {17, 31, 32});
  TestGemm<WideCase<1024, 2496, 64, 64, store, qkv, false, H>>(report, "wide k1024 qkv", {33, 64});
  TestGemm<WideCase<2048, 1208, 64, 128, silu_mul, plain, false, H>>(report, "wide k2048 silu",
                                                                     {65, 128});
  TestGemm<WideCase<9728, 1296, 64, 64, residual, plain, false, H>>(report, "wide k9728 residual",
                                                                    {33, 64});
  TestGemm<WideCase<2560, 2416, 128, 64, silu_mul, plain, true, H>>(
      report, "wide k2560 rows128 norm silu", {33, 50, 64});
  TestGemm<WideCase<1024, 2496, 128, 128, store, qkv, true, H>>(report, "wide k1024 qkv norm",
                                                                {65, 100, 128});
  TestGemm<WideCase<1024, 2416, 128, 128, store, plain, true, F>>(report, "wide k1024 rows128 norm",
                                                                  {65, 100, 128});
  TestGemm<WideCase<4096, 1032, 128, 128, silu_mul, plain, true, H>>(
      report, "wide k4096 rows128 norm silu", {100, 128});
  TestGemm<WideCase<3072, 1024, 64, 128, residual, plain, false, H>>(report, "wide k3072 residual",
                                                                     {100, 128});
}

}  // namespace etc::test
