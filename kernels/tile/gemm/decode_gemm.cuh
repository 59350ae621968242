// The GEMM of a decode step, by the largest batch: StreamGemm up to 8, WideGemm above.
#pragma once

#include "tile/gemm/stream_gemm.cuh"
#include "tile/gemm/wide_gemm.cuh"

namespace etc {

template <class Config, class Args>
using DecodeGemm = typename Choose<(Config::max_batch > 8), WideGemm<Config, Args>,
                                   StreamGemm<Config, Args>>::type;

}  // namespace etc
