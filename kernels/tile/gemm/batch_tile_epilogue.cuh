// The epilogue of a BatchTileGemm: each warp stores the outputs of its 16 sequences, those of 16
// bits by way of scratch, in whole lines.
#pragma once

#include "arch/common/convert.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/batch_tile_weights.cuh"
#include "tile/gemm/gemm_options.cuh"
#include "tile/gemm/staged_rows.cuh"

namespace etc {

template <class Config, class Args>
class BatchTileEpilogue {
  using Epilogue = typename GemmEpilogue<Config>::type;
  using Y = typename ElementOf<decltype(Args::y)>::type;
  static constexpr bool kIsGated = Epilogue::kInputs == 2;
  static constexpr bool kIsSplit = GemmSplitK<Config>::value > 0;

 public:
  using Tensors = WeightsOfGemm<Config>;
  static constexpr int kRows = int(Config::rows);
  static_assert(kRows % (8 * Epilogue::kInputs) == 0 && kRows >= 64 && kRows <= 256,
                "`rows` is a multiple of 8, gated of 16, from 64 to 256");

 private:
  static constexpr int kAllOutputs = GemmOutputs<Args, kIsSplit>::value;
  static constexpr bool kBias = Tensors::template kBias<Config, Args>;
  static_assert(!kIsSplit || (IsSame<Epilogue, store>::value && !kBias), "partials are plain sums");
  using Weights = BatchTileWeights<Tensors, Args, kRows>;
  static constexpr int kTaskOutputs = kRows / Epilogue::kInputs;
  static constexpr int kSums = kTaskOutputs / 2;  // of a thread: four of every 8 outputs
  static constexpr bool kIsStaged = sizeof(Y) == 2;
  using Staged = StagedRows<kTaskOutputs, kAllOutputs, 1>;

 public:
  static constexpr int kScratchBytes = kIsStaged ? Staged::kScratchBytes : 0;

  /// Those outputs of task m of the 16 sequences from b on that exist; in a split, of part p.
  static ETC_DEVICE void Store(const Consumer& consumer, u32 scratch, const Args& args, int m,
                               int p, int b, const float (&sums)[kRows / 2]) {
    BatchTileOutputs task = Weights::OutputsOf(m, kAllOutputs);
    float outputs[kSums];
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      if constexpr (kIsGated) {
        outputs[i] = Epilogue::Gate(sums[i], sums[kSums + i]);
      } else {
        outputs[i] = sums[i];
      }
    }
    if constexpr (kBias) {
      AddBias(args, task, consumer.lane, outputs);
    }
    if constexpr (kIsStaged) {
      OutputPlace place{args.y + task.first, int(args.x_0), task.end - task.first};
      Staged::Store(consumer, scratch, place, b, outputs);
    } else {
      StoreFloats(args, task, p, b, consumer.lane, outputs);
    }
  }

 private:
  /// Of a lane's two outputs of every 8.
  static ETC_DEVICE void AddBias(const Args& args, BatchTileOutputs task, int lane,
                                 float (&outputs)[kSums]) {
#pragma unroll
    for (int i = 0; i < kSums; i += 4) {
      int n = task.first + i * 2 + lane % 4 * 2;
      if (n < task.end) {
        u32 bias = *reinterpret_cast<const u32*>(Tensors::Bias(args, n));
        outputs[i] += LowBf16(bias), outputs[i + 1] += HighBf16(bias);
        outputs[i + 2] += LowBf16(bias), outputs[i + 3] += HighBf16(bias);
      }
    }
  }

  static ETC_DEVICE void StoreFloats(const Args& args, BatchTileOutputs task, int p, int first,
                                     int lane, const float (&outputs)[kSums]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      i64 b = first + half * 8 + lane / 4;
      if (b < args.x_0) {
        i64 to = (i64(p) * args.x_0 + b) * kAllOutputs + task.first + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < kSums; i += 4) {
          if (task.first + i * 2 < task.end) {
            StoreRun(args.y, to + i * 2, {outputs[i + 2 * half], outputs[i + 2 * half + 1]});
          }
        }
      }
    }
  }
};

}  // namespace etc
