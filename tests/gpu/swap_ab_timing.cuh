// What SwapAbGemm takes for the projections of a layer, one stage after the other.
#pragma once

#include "gemm_test.cuh"
#include "stopwatch.cuh"
#include "tile/gemm/swap_ab_gemm.cuh"
#include "tile/pointwise/scalar.cuh"

namespace etc::test {

/// A projection of `depth` k to `outputs` results, with split_k_count > 0 split along k.
template <int depth, int outputs, int tile_rows, int batch_limit, class Epilogue, int split_k_count>
struct SwapAbStage : GemmCase<depth, outputs, tile_rows, batch_limit, Epilogue, plain, false, false,
                              std::conditional_t<(split_k_count > 0), float, bf16>, 0,
                              Order::kSwizzled, SwapAbGemm> {
  using Base = GemmCase<depth, outputs, tile_rows, batch_limit, Epilogue, plain, false, false,
                        std::conditional_t<(split_k_count > 0), float, bf16>, 0, Order::kSwizzled,
                        SwapAbGemm>;
  struct Config : Base::Config {
    static constexpr i64 split_k = split_k_count;
  };
  struct Args : Base::Args {
    static constexpr long long y_2 = outputs;
  };
  using Kernel = SwapAbGemm<Config, Args>;
  static constexpr int kSplitK = std::max(split_k_count, 1);
  static constexpr int kTasks = Base::kTasks * kSplitK;
};

/// Stages of one GEMM, each with its own weights, and an event between each two. Slots and scratch
/// are as large as in the program of a layer.
template <class Case>
struct StagesProgram {
  using Gemm = typename Case::Kernel;
  using Usual = typename SwapAbStage<4096, 4096, 64, Case::kMaxBatch, store, 0>::Kernel;
  static constexpr int kSlotBytes = LargerOf(Gemm::kSlotBytes, Usual::kSlotBytes);
  static constexpr int kScratchBytes = LargerOf(Gemm::kScratchBytes, Usual::kScratchBytes);

  typename Case::Args gemm;
  int stages;
  int cap;

  ETC_DEVICE typename Case::Args Stage(int stage) const {
    typename Case::Args args = gemm;
    i64 offset = i64(stage) * Case::kOutputs * Case::kDepth;
    args.w += offset, args.w_gate += offset, args.w_up += offset;
    return args;
  }
  ETC_DEVICE void Load(Loader& loader) const {
    loader.SetThrottle(cap, 0);
#pragma unroll 1
    for (int i = 0; i < stages; ++i) {
      auto args = Stage(i);
      Share(Case::kTasks, i * Case::kTasks, [&](int task) {
        Gemm::Load(loader, args, task / Case::kSplitK, task % Case::kSplitK);
      });
    }
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    int ctas = min(int(gridDim.x), Case::kTasks);
#pragma unroll 1
    for (int i = 0; i < stages; ++i) {
      if (HasTask(Case::kTasks, i * Case::kTasks)) {
        if (i > 0) {
          events.WaitOne(consumer, i - 1, ctas);
        }
        consumer.Sync();
        auto args = Stage(i);
        Gemm op(consumer, args);
        Share(Case::kTasks, i * Case::kTasks, [&](int task) {
          op.Run(consumer, args, task / Case::kSplitK, task % Case::kSplitK);
        });
        events.Notify(consumer, i, 1);
      }
    }
  }
};

/// Microseconds of a stage with tasks of `rows` rows of weights.
template <int depth, int outputs, int max_batch, class Epilogue, int rows, int split_k = 0>
void TimeRows() {
  using Case = SwapAbStage<depth, outputs, rows, max_batch, Epilogue, split_k>;
  constexpr size_t weights = size_t(depth) * outputs;
  constexpr int stages = std::max<int>(3, int((size_t(300) << 20) / (weights * 2)));
  Buffer<bf16> w(weights * stages), up(Case::kGated ? weights * stages : 8),
      x(size_t(max_batch) * depth), residual(size_t(max_batch) * outputs);
  for (auto* buffer : {&w, &up, &x, &residual}) {
    buffer->Fill(0x3c);
  }
  Buffer<typename Case::Out> y(size_t(max_batch) * outputs * Case::kSplitK);
  StagesProgram<Case> program{};
  auto& args = program.gemm;
  args.x = x.data(), args.x_0 = max_batch, args.y = y.data(), args.residual = residual.data();
  args.w = args.w_gate = w.data(), args.w_up = up.data();
  program.stages = stages, program.cap = Loader::kNoLimit;
  Launcher<StagesProgram<Case>> launcher;
  std::printf(split_k > 0 ? " %d/%d: %.1f" : " %d: %.1f", rows, split_k > 0 ? split_k : 0,
              MedianTime(launcher, program, 7) / stages);
}

template <int depth, int outputs, int max_batch, class Epilogue, int... rows>
void TimeWhole(const char* name) {
  std::printf("  %s (%.1f):", name, 2e-6 * depth * outputs * Epilogue::kInputs / 4.6);
  (TimeRows<depth, outputs, max_batch, Epilogue, rows>(), ...);
  std::printf("\n");
}

/// Tasks of some rows and splits of k.
template <int rows_of_task, int split_k_count>
struct Tiling {
  static constexpr int kRows = rows_of_task, kSplitK = split_k_count;
};
template <int depth, int outputs, int max_batch, class... Tilings>
void TimeSplitK(const char* name) {
  std::printf("  %s (%.1f):", name, 2e-6 * depth * outputs / 4.6);
  (TimeRows<depth, outputs, max_batch, store, Tilings::kRows, Tilings::kSplitK>(), ...);
  std::printf("\n");
}

/// Microseconds of each projection, by rows or rows/split_k of a task; in brackets those that the
/// weights take at 4.6 TB/s.
template <int max_batch>
void TimeProjections() {
  std::printf("Qwen3-8B, batch %d\n", max_batch);
  TimeWhole<4096, 6144, max_batch, store, 64, 48>("qkv");
  TimeSplitK<4096, 4096, max_batch, Tiling<64, 2>, Tiling<128, 4>>("o");
  TimeWhole<4096, 12288, max_batch, silu_mul, 64, 128, 192>("gate and up");
  TimeSplitK<12288, 4096, max_batch, Tiling<64, 2>, Tiling<128, 4>>("down");
  TimeWhole<4096, 151936, max_batch, store, 64, 128>("head");
  std::printf("Qwen3-32B, batch %d\n", max_batch);
  TimeWhole<5120, 10240, max_batch, store, 64, 80>("qkv");
  TimeSplitK<8192, 5120, max_batch, Tiling<64, 3>, Tiling<128, 3>, Tiling<160, 4>>("o");
  TimeWhole<5120, 25600, max_batch, silu_mul, 64, 80, 208>("gate and up");
  TimeSplitK<25600, 5120, max_batch, Tiling<64, 3>, Tiling<128, 3>, Tiling<160, 4>>("down");
}

}  // namespace etc::test
