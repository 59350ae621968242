// The GEMM of a decode step, by the largest batch: SkinnyGemm up to 8, SwapAbGemm above.
#pragma once

#include "tile/gemm/skinny_gemm.cuh"
#include "tile/gemm/swap_ab_gemm.cuh"

namespace etc {

template <class Config, class Args>
using DecodeGemm = typename Choose<(Config::max_batch > 8), SwapAbGemm<Config, Args>,
                                   SkinnyGemm<Config, Args>>::type;

}  // namespace etc
