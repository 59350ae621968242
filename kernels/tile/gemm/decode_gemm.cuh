// The GEMM of a decode step. Config: swap_ab, and what the one or the other has: SwapAbGemm where
// it is true, else SkinnyGemm.
#pragma once

#include "tile/gemm/skinny_gemm.cuh"
#include "tile/gemm/swap_ab_gemm.cuh"

namespace etc {

template <class Config, class Args>
using DecodeGemm = typename Choose<bool(Config::swap_ab), SwapAbGemm<Config, Args>,
                                   SkinnyGemm<Config, Args>>::type;

}  // namespace etc
