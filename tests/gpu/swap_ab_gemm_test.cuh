// SwapAbGemm against sums in double, and what it reaches.
#pragma once

#include "gemm_test.cuh"
#include "tile/gemm/swap_ab_gemm.cuh"

namespace etc::test {

template <int depth, int outputs, int rows, int max_batch, class Epilogue, class Weights,
          class Output, int first = 0, bool bias = false>
using SwapAbCase = GemmCase<depth, outputs, rows, max_batch, Epilogue, Weights, false, bias, Output,
                            0, Order::kSwizzled, SwapAbGemm, false, first>;

inline void TestSwapAbGemms(Report& report) {
  using F = float;
  using H = bf16;
  TestGemm<SwapAbCase<256, 2112, 64, 16, store, plain, F>>(report, "swap-AB k256", {1, 9, 16});
  TestGemm<SwapAbCase<1024, 2496, 64, 16, store, qkv, H>>(report, "swap-AB k1024 qkv", {9, 16});
  TestGemm<SwapAbCase<1024, 1024, 64, 32, residual, plain, H>>(report, "swap-AB k1024 residual",
                                                               {16, 17, 32});
  TestGemm<SwapAbCase<2048, 2432, 64, 32, store, qkv, H>>(report, "swap-AB k2048 qkv", {17, 32});
  TestGemm<SwapAbCase<1024, 1208, 64, 32, silu_mul, plain, H>>(report, "swap-AB k1024 silu",
                                                               {17, 31, 32});
  TestGemm<SwapAbCase<1024, 2496, 64, 64, store, qkv, H>>(report, "swap-AB k1024 qkv", {33, 64});
  TestGemm<SwapAbCase<2048, 1208, 64, 128, silu_mul, plain, H>>(report, "swap-AB k2048 silu",
                                                                {65, 128});
  TestGemm<SwapAbCase<2560, 2416, 128, 64, silu_mul, plain, H>>(
      report, "swap-AB k2560 rows128 silu", {33, 50, 64});
  TestGemm<SwapAbCase<1024, 2496, 128, 128, store, qkv, H>>(report, "swap-AB k1024 qkv",
                                                            {65, 100, 128});
  TestGemm<SwapAbCase<1024, 2416, 128, 128, store, plain, F>>(report, "swap-AB k1024 rows128",
                                                              {65, 100, 128});
  TestGemm<SwapAbCase<3072, 1024, 64, 128, residual, plain, H>>(report, "swap-AB k3072 residual",
                                                                {100, 128});
  TestGemm<SwapAbCase<1024, 1072, 64, 16, largest, plain, F>>(report, "swap-AB largest", {9, 16});
  TestGemm<SwapAbCase<1024, 2416, 128, 128, largest, plain, F>>(report, "swap-AB rows128 largest",
                                                                {65, 127, 128});
  // Warps without rows, warpgroups with fewer than the other, a second block, and the last task's
  // rest.
  TestGemm<SwapAbCase<512, 1056, 16, 16, store, plain, H>>(report, "swap-AB rows16", {9, 16});
  TestGemm<SwapAbCase<1024, 2496, 32, 128, store, qkv, H>>(report, "swap-AB rows32 qkv",
                                                           {100, 128});
  TestGemm<SwapAbCase<1024, 2496, 48, 16, store, qkv, H>>(report, "swap-AB rows48 qkv", {9, 16});
  TestGemm<SwapAbCase<2048, 1208, 48, 64, silu_mul, plain, H>>(report, "swap-AB rows48 silu",
                                                               {33, 64});
  TestGemm<SwapAbCase<1024, 2496, 80, 32, store, qkv, H>>(report, "swap-AB rows80 qkv",
                                                          {9, 16, 17, 32});
  TestGemm<SwapAbCase<1024, 1296, 96, 64, residual, plain, H>>(report, "swap-AB rows96 residual",
                                                               {33, 64});
  TestGemm<SwapAbCase<2048, 2416, 112, 128, store, plain, F>>(report, "swap-AB rows112", {65, 128});
  TestGemm<SwapAbCase<1024, 1304, 144, 32, silu_mul, plain, H>>(report, "swap-AB rows144 silu",
                                                                {32});
  TestGemm<SwapAbCase<1024, 2416, 192, 32, residual, plain, H>>(report, "swap-AB rows192 residual",
                                                                {9, 16, 32});
  TestGemm<SwapAbCase<5120, 3000, 208, 128, silu_mul, plain, H>>(report, "swap-AB rows208 silu",
                                                                 {100, 128});
  TestGemm<SwapAbCase<1024, 31936, 240, 128, store, plain, F>>(report, "swap-AB rows240",
                                                               {65, 128});
  TestGemm<SwapAbCase<1024, 2496, 240, 64, store, qkv, H>>(report, "swap-AB rows240 qkv", {33, 64});
  // k that are no multiple of a slot's: of whole units of 64, and not.
  TestGemm<SwapAbCase<32, 1056, 64, 16, store, plain, F>>(report, "swap-AB k32", {9, 16});
  TestGemm<SwapAbCase<576, 2496, 64, 32, store, qkv, H, 0, true>>(report, "swap-AB k576 qkv bias",
                                                                  {9, 17, 32});
  TestGemm<SwapAbCase<896, 1152, 80, 128, store, plain, F, 0, true>>(
      report, "swap-AB k896 rows80 bias", {100, 128});
  TestGemm<SwapAbCase<576, 1208, 192, 128, silu_mul, plain, H>>(report, "swap-AB k576 rows192 silu",
                                                                {65, 128});
  TestGemm<SwapAbCase<896, 1208, 48, 64, silu_mul, plain, H>>(report, "swap-AB k896 rows48 silu",
                                                              {33, 64});
  TestGemm<SwapAbCase<960, 1072, 128, 128, largest, plain, F>>(
      report, "swap-AB k960 rows128 largest", {65, 127, 128});
  TestGemm<SwapAbCase<1056, 1296, 64, 64, residual, plain, H>>(report, "swap-AB k1056 residual",
                                                               {33, 64});
  TestGemm<SwapAbCase<1056, 2416, 144, 32, store, plain, F>>(report, "swap-AB k1056 rows144",
                                                             {9, 32});
  // Not from the first output on: whole tasks, and a last one with a rest.
  TestGemm<SwapAbCase<1024, 1216, 64, 32, silu_mul, plain, H, 64>>(report, "swap-AB from64 silu",
                                                                   {17, 32});
  TestGemm<SwapAbCase<512, 1208, 64, 16, silu_mul, plain, H, 40>>(report, "swap-AB from40 silu",
                                                                  {9, 16});
  TestGemm<SwapAbCase<1024, 2496, 64, 64, store, qkv, H, 112>>(report, "swap-AB from112 qkv",
                                                               {33, 64});
  TestGemm<SwapAbCase<1024, 2448, 192, 128, silu_mul, plain, H, 72>>(
      report, "swap-AB rows192 from72 silu", {100, 128});
}

/// In sizes of large models, whose tasks have the rows of the others.
inline void TestLargeSwapAbGemms(Report& report) {
  using H = bf16;
  TestGemm<SwapAbCase<9728, 1296, 64, 64, residual, plain, H>>(report, "swap-AB k9728 residual",
                                                               {33, 64});
  TestGemm<SwapAbCase<4096, 1032, 128, 128, silu_mul, plain, H>>(
      report, "swap-AB k4096 rows128 silu", {100, 128});
  TestGemm<SwapAbCase<2560, 2416, 80, 128, silu_mul, plain, H>>(report, "swap-AB rows80 silu",
                                                                {100, 128});
  TestGemm<SwapAbCase<4096, 2448, 192, 128, silu_mul, plain, H>>(report, "swap-AB rows192 silu",
                                                                 {100, 128});
}

}  // namespace etc::test
