// The GEMM of a decode step, by the largest batch: StreamGemm up to 8, WideGemm above.
#pragma once

#include "tile/stream_gemm.cuh"
#include "tile/wide_gemm.cuh"

namespace etc {

template <class Config, class Args>
using DecodeGemm = typename Choose<(Config::max_batch > 8), WideGemm<Config, Args>,
                                   StreamGemm<Config, Args>>::type;

}  // namespace etc
