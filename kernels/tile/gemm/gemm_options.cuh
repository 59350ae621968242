// Options that the GEMMs of a decode step have in common.
#pragma once

#include "engine/options.cuh"
#include "tile/gemm/epilogues.cuh"
#include "tile/gemm/weights.cuh"

namespace etc {

ETC_WORD_OPTION(GemmEpilogueWord, epilogue, store);
ETC_OPTION(GemmGelu, gelu, bool, false);
ETC_WORD_OPTION(GemmWeights, weights, plain);
ETC_OPTION(GemmSplitK, split_k, int, 0);

template <class Config>
struct GemmEpilogue {
  using Word = typename GemmEpilogueWord<Config>::type;
  using Gated = typename Choose<GemmGelu<Config>::value, gelu_mul, silu_mul>::type;
  using type = typename Choose<IsSame<Word, gated>::value, Gated, Word>::type;
};

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
