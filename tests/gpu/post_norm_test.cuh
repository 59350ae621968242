// Embedding with a factor, and PostNorm behind it: of one sum that a projection leaves, and of
// several parts. Against sums in double.
#pragma once

#include "support.cuh"
#include "tile/pointwise/embedding.cuh"
#include "tile/pointwise/post_norm.cuh"

namespace etc::test {

template <int parts>
struct PostNormProgram {
  static constexpr int kBatch = 6, kDepth = 1152;
  struct EmbeddingConfig {
    static constexpr float scale = 33.941125f;  // of bf16 34
  };
  struct EmbeddingArgs {
    const bf16* table;
    static constexpr long long table_1 = kDepth;
    const i32* ids;
    bf16* x;
    static constexpr long long x_1 = kDepth;
  };
  struct Config {
    static constexpr float eps = 1e-6f, norm_offset = 1;
  };
  struct Args {
    const float* partials;
    static constexpr long long partials_0 = parts, partials_2 = kDepth;
    long long partials_1;
    const bf16* x;
    static constexpr long long x_1 = kDepth;
    const bf16 *post_norm, *norm;
    bf16 *h, *y;
  };
  using Embed = Embedding<EmbeddingConfig, EmbeddingArgs>;
  using Norm = PostNorm<Config, Args>;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = Norm::kScratchBytes;

  EmbeddingArgs embedding;
  Args args;

  ETC_DEVICE void Load(Loader&) const {}
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    Embed embed(consumer, embedding);
    Share(kBatch, 0, [&](int b) {
      embed.Run(consumer, embedding, b);
      events.Notify(consumer, b, 1);
    });
    Norm norm(consumer, args);
    Share(kBatch, kBatch, [&](int b) {
      events.Wait(consumer, b, 1);
      norm.Run(consumer, args, b);
    });
  }
};

template <int parts>
void TestPostNormOf(Report& report, const std::string& name) {
  using Program = PostNormProgram<parts>;
  constexpr int depth = Program::kDepth, batch = Program::kBatch, rows = 9;
  Random random(17);
  auto table = random.Bf16(size_t(rows) * depth, 0.1f);
  auto post_norm = random.Bf16(depth, 0.3f), norm = random.Bf16(depth, 0.3f);
  const std::vector<i32> ids = {8, 0, 3, 3, 7, 1};
  std::vector<float> sums(size_t(batch) * depth * parts);
  for (float& value : sums) {
    value = random.Value(20.0f);
  }
  std::vector<double> h(size_t(batch) * depth), y(h.size());
  for (int b = 0; b < batch; ++b) {
    std::vector<double> row(depth);
    double squares = 0;
    for (int k = 0; k < depth; ++k) {
      for (int p = 0; p < parts; ++p) {
        row[k] += sums[(size_t(p) * batch + b) * depth + k];
      }
      squares += row[k] * row[k];
    }
    double scale = 1 / std::sqrt(squares / depth + 1e-6);
    squares = 0;
    for (int k = 0; k < depth; ++k) {
      double x = Rounded(34.0 * HostFloat(table[ids[b] * depth + k]));
      row[k] = x + row[k] * scale * (1 + HostFloat(post_norm[k]));
      h[b * depth + k] = row[k];
      squares += std::pow(Rounded(row[k]), 2);
    }
    scale = 1 / std::sqrt(squares / depth + 1e-6);
    for (int k = 0; k < depth; ++k) {
      y[b * depth + k] = Rounded(row[k]) * scale * (1 + HostFloat(norm[k]));
    }
  }
  Buffer<bf16> device_table(table), x(h.size()), device_post(post_norm), device_norm(norm),
      device_h(h.size()), device_y(h.size());
  Buffer<i32> device_ids(ids);
  Buffer<float> device_sums(sums);
  Program program{};
  program.embedding = {device_table.data(), device_ids.data(), x.data()};
  auto& args = program.args;
  args.partials = device_sums.data(), args.partials_1 = batch;
  args.x = x.data(), args.post_norm = device_post.data(), args.norm = device_norm.data();
  args.h = device_h.data(), args.y = device_y.data();
  Launcher<Program> launcher;
  std::vector<bf16> first;
  int different = 0;
  for (int launch = 0; launch < kLaunches; ++launch) {
    x.Fill(0xff), device_h.Fill(0xff), device_y.Fill(0xff);
    launcher.Launch(program);
    auto result = device_y.Read();
    if (launch == 0) {
      first = result;
      report.CheckClose(device_h.Read(), h, h.size(), 1.0 / 200, 1e-3, name + ": sum");
      report.CheckClose(result, y, y.size(), 1.0 / 100, 1e-3, name + ": normed");
    }
    different += !SameBits(result, first);
  }
  report.Check(different == 0, name + ": " + std::to_string(different) + " launches differ");
}

inline void TestPostNorm(Report& report) {
  TestPostNormOf<1>(report, "post norm");
  TestPostNormOf<3>(report, "post norm of parts");
}

}  // namespace etc::test
