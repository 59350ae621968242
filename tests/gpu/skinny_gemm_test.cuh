// The shapes at which SkinnyGemm is tested.
#pragma once

#include "gemm_test.cuh"

namespace etc::test {

inline void TestGemms(Report& report) {
  using F = float;
  using H = bf16;
  TestGemm<GemmCase<256, 2400, 8, 8, store, plain, false, false, F>>(report, "k256 rows8",
                                                                     {1, 2, 3, 8});
  TestGemm<GemmCase<256, 2112, 16, 16, store, plain, false, true, H>>(report, "k256 rows16 bias",
                                                                      {1, 9, 16});
  TestGemm<GemmCase<1024, 2400, 8, 8, store, plain, true, false, F>>(report, "k1024 norm",
                                                                     {1, 2, 3, 8});
  TestGemm<GemmCase<1024, 1200, 8, 8, silu_mul, plain, true, false, H>>(
      report, "k1024 rows8 norm silu", {1, 3, 8});
  TestGemm<GemmCase<1024, 2400, 16, 16, silu_mul, plain, true, false, H>>(
      report, "k1024 rows16 norm silu", {1, 8, 9, 16});
  TestGemm<GemmCase<1024, 2432, 8, 8, store, qkv, true, false, H>>(report, "k1024 qkv norm",
                                                                   {1, 2, 8});
  TestGemm<GemmCase<1024, 2400, 8, 16, residual, plain, false, false, H>>(report, "k1024 residual",
                                                                          {1, 9, 16});
  TestGemm<GemmCase<2560, 2368, 8, 8, residual, plain, false, false, H>>(report, "k2560 residual",
                                                                         {1, 3, 8});
  TestGemm<GemmCase<2560, 2432, 16, 16, store, qkv, true, false, H>>(
      report, "k2560 rows16 qkv norm", {1, 9, 16});
  TestGemm<GemmCase<3072, 1800, 8, 8, residual, plain, false, false, H>>(report, "k3072 residual",
                                                                         {1, 2, 8});
  TestGemm<GemmCase<3072, 2400, 16, 16, residual, plain, false, false, H, 768>>(
      report, "k3072 rows16 chunk768 residual", {1, 9, 16});
  TestGemm<GemmCase<8192, 1600, 8, 8, residual, plain, false, false, H>>(report, "k8192 residual",
                                                                         {1, 3, 8});
  TestGemm<GemmCase<8192, 2400, 16, 16, store, plain, true, false, F>>(report, "k8192 rows16 norm",
                                                                       {1, 8, 9, 16});
  TestGemm<GemmCase<9728, 1280, 8, 8, residual, plain, false, false, H>>(report, "k9728 residual",
                                                                         {1, 2, 3, 8});
  TestGemm<GemmCase<9728, 2400, 16, 32, residual, plain, false, false, H>>(
      report, "k9728 rows16 residual", {1, 8, 9, 16, 17, 32});
}

/// The same with weights, and the table of the embedding, in tiles.
inline void TestGemmsInTiles(Report& report) {
  using F = float;
  using H = bf16;
  TestGemm<GemmCase<256, 2400, 8, 8, store, plain, false, true, F, 1024, Order::kTiles>>(
      report, "tiles k256 rows8 bias", {1, 2, 8});
  TestGemm<GemmCase<1024, 2432, 8, 8, store, qkv, true, false, H, 1024, Order::kTiles>>(
      report, "tiles k1024 qkv norm", {1, 2, 8});
  TestGemm<GemmCase<1024, 2400, 16, 16, silu_mul, plain, true, false, H, 1024, Order::kTiles>>(
      report, "tiles k1024 rows16 norm silu", {1, 8, 9, 16});
  TestGemm<GemmCase<2560, 2368, 8, 8, residual, plain, false, false, H, 1024, Order::kTiles>>(
      report, "tiles k2560 residual", {1, 3, 8});
  TestGemm<GemmCase<2560, 2432, 16, 16, store, qkv, true, false, H, 1024, Order::kTiles>>(
      report, "tiles k2560 rows16 qkv norm", {1, 9, 16});
  TestGemm<GemmCase<3072, 2400, 16, 16, residual, plain, false, false, H, 768, Order::kTiles>>(
      report, "tiles k3072 rows16 chunk768 residual", {1, 9, 16});
  TestGemm<GemmCase<8192, 2400, 16, 16, store, plain, true, false, F, 512, Order::kTiles>>(
      report, "tiles k8192 rows16 chunk512 norm", {1, 9, 16});
  TestGemm<GemmCase<9728, 1280, 8, 8, residual, plain, false, false, H, 1024, Order::kTiles>>(
      report, "tiles k9728 residual", {1, 2, 8});
  TestGemm<GemmCase<9728, 2400, 16, 32, residual, plain, false, false, H, 512, Order::kTiles>>(
      report, "tiles k9728 rows16 residual", {1, 9, 17, 32});
  TestGemm<GemmCase<256, 2400, 8, 8, store, plain, false, true, F, 1024, Order::kSwizzled>>(
      report, "swizzled k256 rows8 bias", {1, 2, 8});
  TestGemm<GemmCase<1024, 2432, 8, 8, store, qkv, true, false, H, 1024, Order::kSwizzled>>(
      report, "swizzled k1024 qkv norm", {1, 8});
  TestGemm<GemmCase<1024, 2400, 16, 16, silu_mul, plain, true, false, H, 1024, Order::kSwizzled>>(
      report, "swizzled k1024 rows16 norm silu", {1, 9, 16});
  TestGemm<GemmCase<2560, 2400, 16, 16, residual, plain, false, false, H, 512, Order::kSwizzled>>(
      report, "swizzled k2560 rows16 residual", {1, 16});
  TestGemm<GemmCase<1024, 2400, 16, 8, largest, plain, true, false, F, 512, Order::kSwizzled>>(
      report, "swizzled k1024 norm largest", {1, 3, 8});
}

/// Where k is no multiple of 256: warps with fewer blocks than others in the last chunk, or in the
/// only one, or none; of tiles, whose rows may end in the middle of a line.
inline void TestRaggedGemms(Report& report) {
  using F = float;
  using H = bf16;
  constexpr Order kSwizzled = Order::kSwizzled;
  TestGemm<GemmCase<32, 2400, 8, 8, store, plain, true, false, F>>(report, "k32 norm", {1, 8});
  TestGemm<GemmCase<576, 2400, 8, 8, store, plain, true, true, F>>(report, "k576 norm bias",
                                                                   {1, 2, 3, 8});
  TestGemm<GemmCase<1056, 2368, 16, 16, residual, plain, false, false, H>>(
      report, "k1056 rows16 residual", {1, 9, 16});
  TestGemm<GemmCase<576, 2432, 8, 8, store, qkv, true, true, H, 0, kSwizzled>>(
      report, "swizzled k576 qkv norm bias", {1, 3, 8});
  TestGemm<GemmCase<576, 2400, 16, 8, largest, plain, true, false, F, 0, kSwizzled>>(
      report, "swizzled k576 rows16 norm largest", {1, 8});
  TestGemm<GemmCase<896, 2400, 16, 8, silu_mul, plain, true, false, H, 0, kSwizzled>>(
      report, "swizzled k896 rows16 norm silu", {1, 2, 8});
  TestGemm<GemmCase<960, 2368, 8, 8, residual, plain, false, false, H, 0, kSwizzled>>(
      report, "swizzled k960 residual", {1, 3, 8});
  TestGemm<GemmCase<1152, 2400, 16, 16, store, plain, true, false, F, 0, kSwizzled>>(
      report, "swizzled k1152 rows16 norm", {1, 9, 16});
  TestGemm<GemmCase<1184, 2400, 8, 8, store, plain, true, false, F, 256, kSwizzled>>(
      report, "swizzled k1184 chunk256 norm", {1, 8});
  TestGemm<GemmCase<9824, 1280, 8, 8, store, plain, true, false, H, 0, kSwizzled>>(
      report, "swizzled k9824 norm", {1, 3, 8});
  TestGemm<GemmCase<9824, 1280, 16, 32, residual, plain, false, false, H, 0, kSwizzled>>(
      report, "swizzled k9824 rows16 residual", {1, 17, 32});
}

/// Tasks of many rows, whose sums the consumers join themselves. Those of some cases are more than
/// there are SMs, and the last task has fewer rows.
template <int depth, int outputs, int rows, class Epilogue, class Weights, bool norm, bool bias,
          class Output, Order order = Order::kTiles>
using SingleCase = GemmCase<depth, outputs, rows, 8, Epilogue, Weights, norm, bias, Output, 0,
                            order, SkinnyGemm, true>;

inline void TestSingleGemms(Report& report) {
  using F = float;
  using H = bf16;
  TestGemm<SingleCase<1024, 2400, 8, store, plain, false, true, F>>(
      report, "single k1024 rows8 bias", {1, 2, 8});
  TestGemm<SingleCase<1024, 4288, 32, store, qkv, true, false, H>>(
      report, "single k1024 rows32 qkv norm", {1, 3, 8});
  TestGemm<SingleCase<1024, 3080, 48, silu_mul, plain, true, false, H>>(
      report, "single k1024 rows48 norm silu", {1, 2, 8});
  TestGemm<SingleCase<2048, 2048, 16, residual, plain, false, false, H>>(
      report, "single k2048 rows16 residual", {1, 8});
  TestGemm<SingleCase<4096, 4128, 32, residual, plain, false, false, H>>(
      report, "single k4096 rows32 residual", {1, 3, 8});
  TestGemm<SingleCase<4096, 6144, 48, store, qkv, true, false, H>>(
      report, "single k4096 rows48 qkv norm", {1, 8});
  TestGemm<SingleCase<8192, 1032, 24, store, plain, true, true, F>>(
      report, "single k8192 rows24 norm bias", {1, 2, 8});
  TestGemm<SingleCase<9728, 1304, 40, residual, plain, false, false, H>>(
      report, "single k9728 rows40 residual", {1, 3, 8});
  TestGemm<SingleCase<9728, 2560, 64, residual, plain, false, false, H, Order::kRows>>(
      report, "single k9728 rows64 residual by rows", {1, 8});
  TestGemm<SingleCase<1024, 3080, 48, silu_mul, plain, true, false, H, Order::kSwizzled>>(
      report, "single swizzled k1024 rows48 norm silu", {1, 8});
  TestGemm<SingleCase<4096, 4128, 32, residual, plain, false, false, H, Order::kSwizzled>>(
      report, "single swizzled k4096 rows32 residual", {3, 8});
  TestGemm<SingleCase<576, 2400, 24, residual, plain, false, false, H, Order::kSwizzled>>(
      report, "single swizzled k576 rows24 residual", {1, 8});
  TestGemm<SingleCase<896, 3080, 48, silu_mul, plain, true, false, H, Order::kSwizzled>>(
      report, "single swizzled k896 rows48 norm silu", {1, 3, 8});
  TestGemm<SingleCase<4896, 4288, 32, store, qkv, true, true, H, Order::kSwizzled>>(
      report, "single swizzled k4896 rows32 qkv norm bias", {3, 8});
}

}  // namespace etc::test
