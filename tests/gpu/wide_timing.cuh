// What WideGemm takes for the projections of a layer, one stage after the other.
#pragma once

#include "stream_gemm_test.cuh"
#include "tile/wide_gemm.cuh"

namespace etc::test {

/// Stages of one GEMM, each with its own weights, and an event between each two.
template <class Case>
struct StagesProgram {
  using Gemm = typename Case::Kernel;
  static constexpr int kSlotBytes = Gemm::kSlotBytes;
  static constexpr int kScratchBytes = Gemm::kScratchBytes;

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
    loader.cap = cap;
#pragma unroll 1
    for (int i = 0; i < stages; ++i) {
      auto args = Stage(i);
      Share(Case::kTasks, i * Case::kTasks, [&](int m) { Gemm::Load(loader, args, m); });
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
        Share(Case::kTasks, i * Case::kTasks, [&](int m) { op.Run(consumer, args, m); });
        events.Notify(consumer, i, 1);
      }
    }
  }
};

/// Microseconds of a stage, of `outputs` results; where they are gated, of twice the weights.
template <int depth, int outputs, int rows, int max_batch, class Epilogue, class Output>
float TimeWideStage(int cap) {
  using Case = GemmCase<depth, outputs, rows, max_batch, Epilogue, plain, false, false, Output, 0,
                        true, WideGemm>;
  constexpr size_t weights = size_t(depth) * outputs;
  constexpr int stages = std::max<int>(3, int((size_t(300) << 20) / (weights * 2)));
  Buffer<bf16> w(weights * stages), up(Case::kGated ? weights * stages : 8),
      x(size_t(max_batch) * depth), residual(size_t(max_batch) * outputs);
  for (auto* buffer : {&w, &up, &x, &residual}) {
    buffer->Fill(0x3c);
  }
  Buffer<Output> y(size_t(max_batch) * outputs);
  StagesProgram<Case> program{};
  auto& args = program.gemm;
  args.x = x.data(), args.x_0 = max_batch, args.y = y.data(), args.residual = residual.data();
  args.w = args.w_gate = w.data(), args.w_up = up.data();
  program.stages = stages, program.cap = cap;
  Launcher<StagesProgram<Case>> launcher;
  return launcher.Time(program, 7) / stages;
}

template <int depth, int outputs, int max_batch, class Epilogue>
void TimeWide(const char* name) {
  double bytes = 2.0 * depth * outputs * Epilogue::kInputs;
  std::printf("wide %-11s k %5d batch %3d:", name, depth, max_batch);
  for (int cap : {3, 6}) {
    float time = TimeWideStage<depth, outputs, 64, max_batch, Epilogue, bf16>(cap);
    std::printf(" cap %d: %.1f us, %.2f TB/s%s", cap, time, bytes / time * 1e-6,
                cap == 6 ? "\n" : ";");
  }
}

/// The projections of Qwen3-8B, each whole.
template <int max_batch>
void TimeWideLayer() {
  TimeWide<4096, 6144, max_batch, store>("qkv");
  TimeWide<4096, 4096, max_batch, residual>("o");
  TimeWide<4096, 12288, max_batch, silu_mul>("gate and up");
  TimeWide<12288, 4096, max_batch, residual>("down");
}

}  // namespace etc::test
