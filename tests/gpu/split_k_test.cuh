// A split-K projection as a layer has it: Embedding with cleared partials, AddNorm, SwapAbGemm with
// split-K, and the AddNorm that adds them, each behind the other in one launch.
#pragma once

#include "gemm_test.cuh"
#include "tile/gemm/swap_ab_gemm.cuh"
#include "tile/pointwise/add_norm.cuh"

namespace etc::test {

template <int depth, int batch_limit, int split_k_count, int tile_rows = 64>
struct SplitKProgram {
  static constexpr int kDepth = depth, kMaxBatch = batch_limit, kSplitK = split_k_count;
  static constexpr int kTiles = DivideUp(depth, tile_rows);
  struct Config {
    static constexpr i64 rows = tile_rows, max_batch = batch_limit, split_k = split_k_count;
    static constexpr float eps = 1e-6f;
  };
  struct EmbeddingArgs : Layouts<Order::kSwizzled> {
    const bf16* table;
    static constexpr long long table_1 = depth;
    const i32* ids;
    bf16* x;
    static constexpr long long x_1 = depth;
    float* partials;
    static constexpr long long partials_0 = split_k_count, partials_2 = depth;
    long long partials_1;
  };
  struct NormArgs {
    bf16* residual;
    static constexpr long long residual_1 = depth;
    const float* partials;
    static constexpr long long partials_0 = split_k_count, partials_2 = depth;
    long long partials_1;
    const bf16* norm;
    bf16* y;
  };
  struct GemmArgs : Layouts<Order::kSwizzled> {
    const bf16* x;
    long long x_0;
    static constexpr long long x_1 = depth;
    const bf16* w;
    float* y;
    static constexpr long long y_0 = split_k_count, y_2 = depth;
    long long y_1;
  };
  using Start = Embedding<Config, EmbeddingArgs>;
  using Norm = AddNorm<Config, NormArgs>;
  using Gemm = SwapAbGemm<Config, GemmArgs>;
  static constexpr int kSlotBytes = Gemm::kSlotBytes;
  static constexpr int kScratchBytes = Gemm::kScratchBytes;

  EmbeddingArgs start;
  NormArgs before, after;
  GemmArgs gemm;

  ETC_DEVICE void Load(Loader& loader) const {
    Share(kTiles * kSplitK, 2 * int(gemm.x_0),
          [&](int task) { Gemm::Load(loader, gemm, task / kSplitK, task % kSplitK); });
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    int batch = int(gemm.x_0), tasks = kTiles * kSplitK;
    Start embedding(consumer, start);
    Share(batch, 0, [&](int b) {
      embedding.Run(consumer, start, b);
      events.Notify(consumer, 0, 1);
    });
    Normed(consumer, events, before, batch, 0, batch);
    if (HasTask(tasks, 2 * batch)) {
      events.Wait(consumer, 1, batch);
      consumer.Sync();
      Gemm op(consumer, gemm);
      Share(tasks, 2 * batch, [&](int task) {
        op.Run(consumer, gemm, task / kSplitK, task % kSplitK);
        events.Notify(consumer, 2, 1);
      });
    }
    Normed(consumer, events, after, 2 * batch + tasks, 2, tasks);
  }

 private:
  static ETC_DEVICE void Normed(Consumer& consumer, const Events& events, const NormArgs& args,
                                int first, int event, int count) {
    int batch = int(args.partials_1);
    if (HasTask(batch, first)) {
      events.Wait(consumer, event, count);
      consumer.Sync();
      Norm op(consumer, args);
      Share(batch, first, [&](int b) {
        op.Run(consumer, args, b);
        events.Notify(consumer, event + 1, 1);
      });
    }
  }
};

/// What AddNorm makes of one row, with its sum rounded as it stores it.
inline std::vector<double> Normed(const std::vector<double>& sums, const std::vector<bf16>& norm) {
  double squares = 0;
  for (double sum : sums) {
    squares += Rounded(sum) * Rounded(sum);
  }
  std::vector<double> normed(sums.size());
  for (size_t k = 0; k < sums.size(); ++k) {
    normed[k] =
        Rounded(sums[k]) / std::sqrt(squares / double(sums.size()) + 1e-6) * HostFloat(norm[k]);
  }
  return normed;
}

template <class Program>
void TestSplitK(Report& report, const char* name, const std::vector<int>& batches) {
  constexpr int depth = Program::kDepth, max_batch = Program::kMaxBatch, split_k = Program::kSplitK;
  Random random(depth + split_k);
  auto table = random.Bf16(size_t(max_batch) * depth, 2.0f);
  auto weights = random.Bf16(size_t(depth) * depth, std::sqrt(3.0f / depth));
  auto norm = random.Bf16(depth, 0.5f, 1.0f), next_norm = random.Bf16(depth, 0.5f, 1.0f);
  std::vector<i32> ids(max_batch);
  for (int b = 0; b < max_batch; ++b) {
    ids[b] = (b * 7 + 3) % max_batch;
  }
  Buffer<bf16> device_table(Stored(table, depth, Order::kSwizzled)),
      device_weights(Stored(weights, depth, Order::kSwizzled));
  Buffer<bf16> device_norm(norm), device_next(next_norm);
  Buffer<bf16> residual(table.size()), x(table.size()), y(table.size());
  Buffer<i32> device_ids(ids);
  Buffer<float> sums(table.size() * split_k);
  Launcher<Program> launcher;
  for (int batch : batches) {
    Program program{};
    program.start.table = device_table.data(), program.start.ids = device_ids.data();
    program.start.x = residual.data(), program.start.partials = sums.data();
    program.start.partials_1 = program.before.partials_1 = program.after.partials_1 = batch;
    program.before.residual = program.after.residual = residual.data();
    program.before.partials = program.after.partials = sums.data();
    program.before.norm = device_norm.data(), program.after.norm = device_next.data();
    program.before.y = x.data(), program.after.y = y.data();
    program.gemm.x = x.data(), program.gemm.w = device_weights.data();
    program.gemm.y = sums.data(), program.gemm.x_0 = program.gemm.y_1 = batch;
    std::string what = std::string(name) + " batch " + std::to_string(batch);
    std::vector<bf16> first;
    int different = 0;
    for (int launch = 0; launch < kLaunches; ++launch) {
      residual.Fill(0xff), x.Fill(0xff), y.Fill(0xff), sums.Fill(0xff);
      launcher.Launch(program);
      auto result = y.Read();
      if (launch == 0) {
        first = result;
      }
      different += !SameBits(result, first);
    }
    report.Check(different == 0, what + ": " + std::to_string(different) + " launches differ");

    // Each stage from what the device made of the one before, so that no rounding is in dispute.
    auto normed = x.Read(), stream = residual.Read();
    std::vector<double> expected_x, expected_stream(size_t(batch) * depth), expected_y;
    ParallelFor(batch, [&](int b) {
      for (int n = 0; n < depth; ++n) {
        double sum = HostFloat(table[size_t(ids[b]) * depth + n]);
        for (int k = 0; k < depth; ++k) {
          sum += double(HostFloat(normed[size_t(b) * depth + k])) *
                 HostFloat(weights[size_t(n) * depth + k]);
        }
        expected_stream[size_t(b) * depth + n] = sum;
      }
    });
    for (int b = 0; b < batch; ++b) {
      std::vector<double> row(depth), sum(depth);
      for (int k = 0; k < depth; ++k) {
        row[k] = HostFloat(table[size_t(ids[b]) * depth + k]);
        sum[k] = HostFloat(stream[size_t(b) * depth + k]);
      }
      row = Normed(row, norm), sum = Normed(sum, next_norm);
      expected_x.insert(expected_x.end(), row.begin(), row.end());
      expected_y.insert(expected_y.end(), sum.begin(), sum.end());
    }
    size_t count = size_t(batch) * depth;
    report.CheckClose(normed, expected_x, count, 1.0 / 250, 1e-5, what + " first norm");
    report.CheckClose(stream, expected_stream, count, 1.0 / 250, 2e-5, what + " sum");
    report.CheckClose(first, expected_y, count, 1.0 / 250, 1e-5, what + " norm");
  }
}

inline void TestSplitKProjections(Report& report) {
  // As many splits as slots of k, splits of different lengths, several tasks for an SM; rows that
  // the threads of a stage have once, more than once, and with a rest.
  TestSplitK<SplitKProgram<1024, 32, 4>>(report, "split-K k1024", {1, 17, 32});
  TestSplitK<SplitKProgram<1024, 128, 3>>(report, "split-K k1024 of three", {65, 128});
  TestSplitK<SplitKProgram<1280, 64, 2>>(report, "split-K k1280", {33, 64});
  TestSplitK<SplitKProgram<2048, 16, 1>>(report, "split-K of one k2048", {9, 16});
  // The last split has a rest, or nothing else.
  TestSplitK<SplitKProgram<576, 32, 3>>(report, "split-K k576", {9, 32});
  TestSplitK<SplitKProgram<896, 128, 2>>(report, "split-K k896", {65, 128});
  TestSplitK<SplitKProgram<1184, 64, 5>>(report, "split-K k1184", {33, 64});
  TestSplitK<SplitKProgram<1152, 128, 4, 128>>(report, "split-K k1152 rows128", {100, 128});
  // Tasks of fewer and of more rows, and a last one with a rest.
  TestSplitK<SplitKProgram<1024, 128, 4, 32>>(report, "split-K k1024 rows32", {100, 128});
  TestSplitK<SplitKProgram<2048, 32, 3, 80>>(report, "split-K k2048 rows80", {9, 16, 32});
  TestSplitK<SplitKProgram<2560, 128, 4, 160>>(report, "split-K k2560 rows160", {33, 128});
}

/// In sizes of large models, whose splits and tasks are like those of the others.
inline void TestLargeSplitKProjections(Report& report) {
  TestSplitK<SplitKProgram<5120, 32, 3>>(report, "split-K k5120", {17, 32});
  TestSplitK<SplitKProgram<2048, 128, 8, 128>>(report, "split-K k2048 rows128", {100, 128});
}

}  // namespace etc::test
