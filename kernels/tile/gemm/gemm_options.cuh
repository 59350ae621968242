// Options that the GEMMs of a decode step have in common.
#pragma once

#include "engine/options.cuh"
#include "tile/gemm/epilogues.cuh"
#include "tile/gemm/weights.cuh"

namespace etc {

ETC_WORD_OPTION(GemmEpilogue, epilogue, store);
ETC_WORD_OPTION(GemmWeights, weights, plain);
ETC_OPTION(GemmSplitK, split_k, int, 0);

/// The weights of a GEMM. Those of a gated epilogue are always gate and up.
template <class Config>
using WeightsOfGemm = typename Choose<GemmEpilogue<Config>::type::kInputs == 2, gate_up,
                                      typename GemmWeights<Config>::type>::type;

/// The extent of `y` that is the number of outputs: with split_k, parts of k stand in front.
template <class Args, bool is_split>
struct GemmOutputs {
  static constexpr int value = int(Args::y_1);
};
template <class Args>
struct GemmOutputs<Args, true> {
  static constexpr int value = int(Args::y_2);
};

}  // namespace etc
