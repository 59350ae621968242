// The GEMM of a decode step, by the rows of a task: WideGemm from 64 on, StreamGemm below.
#pragma once

#include "tile/stream_gemm.cuh"
#include "tile/wide_gemm.cuh"

namespace etc {

template <class Config, class Args>
using DecodeGemm =
    typename Choose<(Config::rows >= 64), WideGemm<Config, Args>, StreamGemm<Config, Args>>::type;

}  // namespace etc
