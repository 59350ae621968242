// A GEMM against sums in double, behind an op that writes its activations in the same launch.
#pragma once

#include <type_traits>

#include "support.cuh"
#include "tile/gemm/skinny_gemm.cuh"
#include "tile/pointwise/embedding.cuh"

namespace etc::test {

/// How weights are stored: by rows, or in tiles of 8 x 32, plain or swizzled.
enum class Order { kRows, kTiles, kSwizzled };

/// What Args of tensors in tiles has besides.
template <Order order>
struct Layouts {};
template <>
struct Layouts<Order::kTiles> {
  static constexpr long long w_tile_0 = 8, w_tile_1 = 32, wq_tile_0 = 8, wq_tile_1 = 32,
                             wk_tile_0 = 8, wk_tile_1 = 32, wv_tile_0 = 8, wv_tile_1 = 32,
                             w_gate_tile_0 = 8, w_gate_tile_1 = 32, w_up_tile_0 = 8,
                             w_up_tile_1 = 32, table_tile_0 = 8, table_tile_1 = 32;
};
template <>
struct Layouts<Order::kSwizzled> : Layouts<Order::kTiles> {
  static constexpr bool w_swizzle = true, wq_swizzle = true, wk_swizzle = true, wv_swizzle = true,
                        w_gate_swizzle = true, w_up_swizzle = true, table_swizzle = true;
};

/// A row-major matrix of `columns` columns as it is stored. The four pieces of 8 columns of a
/// swizzled tile's row change places with each second row.
inline std::vector<bf16> Stored(const std::vector<bf16>& matrix, int columns, Order order) {
  if (order == Order::kRows) {
    return matrix;
  }
  std::vector<bf16> stored(matrix.size());
  for (size_t i = 0; i < matrix.size(); ++i) {
    size_t row = i / columns, column = i % columns;
    size_t tile = row / 8 * (columns / 32) + column / 32;
    size_t piece = column / 8 % 4;
    if (order == Order::kSwizzled) {
      piece ^= row / 2 % 4;
    }
    stored[tile * 256 + row % 8 * 32 + piece * 8 + column % 8] = matrix[i];
  }
  return stored;
}

template <int depth, Order order = Order::kRows>
struct CopyArgs : Layouts<order> {
  const bf16* table;
  static constexpr long long table_1 = depth;
  const i32* ids;
  bf16* x;
  static constexpr long long x_1 = depth;
};

/// What Args of qkv with biases has besides.
template <bool has_bias>
struct QkvBiases {};
template <>
struct QkvBiases<true> {
  const bf16 *bq, *bk, *bv;
};

/// The emulated device has few SMs: of the outputs it gets enough for a task or more on each, with
/// the same rest of the last task and of each part of qkv.
constexpr int OutputsToTest(int outputs, int rows, bool qkv) {
  int unit = qkv ? 4 * rows : rows, few = outputs % unit + (qkv ? 1 : 5) * unit;
  return kEmulated && few < outputs ? few : outputs;
}

/// Shapes: k, outputs n, rows of a task, the largest batch, the variant, and the kernel.
template <int depth, int all_outputs, int tile_rows, int batch_limit, class Epilogue, class Weights,
          bool has_norm, bool has_bias, class Output, int chunk = 8192 / tile_rows,
          Order order = Order::kRows, template <class, class> class GemmKernel = SkinnyGemm,
          bool is_single = false, int first_output = 0>
struct GemmCase {
  static constexpr Order kOrder = order;
  static constexpr int outputs =
      OutputsToTest(all_outputs, tile_rows, std::is_same<Weights, qkv>::value);
  static constexpr int kDepth = depth, kOutputs = outputs, kMaxBatch = batch_limit;
  static constexpr bool kGated = Epilogue::kInputs == 2;
  static constexpr bool kQkv = std::is_same<Weights, qkv>::value;
  static constexpr bool kResidual = std::is_same<Epilogue, residual>::value;
  static constexpr bool kLargest = Epilogue::kFindsLargest;
  using Out = Output;
  struct Config {
    static constexpr i64 rows = tile_rows, max_batch = batch_limit, chunk_k = chunk,
                         first = first_output;
    using epilogue = Epilogue;
    using weights = Weights;
    static constexpr bool norm = has_norm, bias = has_bias, single = is_single;
    static constexpr float eps = 1e-6f;
  };
  struct Args : Layouts<order>, QkvBiases<has_bias && kQkv> {
    const bf16* x;
    long long x_0;
    static constexpr long long x_1 = depth;
    const bf16 *w, *w_gate, *w_up, *wq, *wk, *wv, *norm, *bias, *residual;
    static constexpr long long wq_0 = outputs / 2, wk_0 = outputs / 4, wv_0 = outputs / 4;
    static constexpr long long residual_1 = outputs;
    Output* y;
    static constexpr long long y_1 = outputs;
    float* largest;
  };
  using Kernel = GemmKernel<Config, Args>;
  static constexpr int kTasks = DivideUp(outputs - first_output, tile_rows / Epilogue::kInputs);
};

template <class Case>
struct GemmProgram {
  using CopyIn = CopyArgs<Case::kDepth, Case::kOrder>;
  using Copy = Embedding<void, CopyIn>;
  using Gemm = typename Case::Kernel;
  static constexpr int kSlotBytes = Gemm::kSlotBytes;
  static constexpr int kScratchBytes = Gemm::kScratchBytes;
  static constexpr int kPartialsBytes = ReductionOf<Gemm>::kPartialsBytes;

  CopyIn copy;
  typename Case::Args gemm;

  ETC_DEVICE void Load(Loader& loader) const {
    Share(Case::kTasks, int(gemm.x_0), [&](int m) { Gemm::Load(loader, gemm, m); });
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    int batch = int(gemm.x_0);
    if (HasTask(batch, 0)) {
      Copy op(consumer, copy);
      Share(batch, 0, [&](int b) {
        op.Run(consumer, copy, b);
        events.Notify(consumer, b, 1);
      });
    }
    if (HasTask(Case::kTasks, batch)) {
      events.WaitRange(consumer, 0, batch, 1);
      consumer.Sync();
      Gemm op(consumer, gemm);
      Share(Case::kTasks, batch, [&](int m) { op.Run(consumer, gemm, m); });
    }
  }
  ETC_DEVICE void Reduce(EpilogueWarp& epilogue_warp, const Events&) const {
    if constexpr (ReductionOf<Gemm>::kExists) {
      int batch = int(gemm.x_0);
      if (HasTask(Case::kTasks, batch)) {
        ReductionOf<Gemm> reduction(epilogue_warp, gemm);
        Share(Case::kTasks, batch, [&](int m) { reduction.Run(epilogue_warp, gemm, m); });
      }
    }
  }
};

/// Of every 16 of the outputs [batch, outputs] the largest, [outputs / 16, batch]; behind them
/// poison.
template <class Out>
std::vector<float> LargestOfBlocks(const std::vector<Out>& y, int batch, int outputs) {
  std::vector<float> largest(y.size() / 16);
  std::memset(largest.data(), 0xff, largest.size() * sizeof(float));
  for (int n = 0; n < outputs; ++n) {
    for (int b = 0; b < batch; ++b) {
      float& of_block = largest[size_t(n / 16) * batch + b];
      float value = y[size_t(b) * outputs + n];
      of_block = n % 16 == 0 ? value : std::max(of_block, value);
    }
  }
  return largest;
}

template <class Case>
void TestGemm(Report& report, const char* name, const std::vector<int>& batches) {
  constexpr int depth = Case::kDepth, outputs = Case::kOutputs, max_batch = Case::kMaxBatch;
  using Config = typename Case::Config;
  Random random(depth * 31 + outputs + Config::rows);
  float scale = std::sqrt(3.0f / depth);
  auto weights = random.Bf16(size_t(outputs) * depth, scale);
  auto up_weights = random.Bf16(Case::kGated ? size_t(outputs) * depth : 8, scale);
  auto norm = random.Bf16(depth, 0.5f, 1.0f);
  auto bias = random.Bf16(outputs, 1.0f);
  auto residuals = random.Bf16(size_t(max_batch) * outputs, 1.0f);
  auto x = random.Bf16(size_t(max_batch) * depth, 2.0f);

  std::vector<double> expected(size_t(max_batch) * outputs);
  std::vector<double> activations(size_t(max_batch) * depth), factors(max_batch, 1.0);
  for (int b = 0; b < max_batch; ++b) {
    double squares = 0;
    for (int k = 0; k < depth; ++k) {
      double value = HostFloat(x[size_t(b) * depth + k]);
      squares += value * value;
      activations[size_t(b) * depth + k] =
          Config::norm ? Rounded(value * HostFloat(norm[k])) : value;
    }
    if (Config::norm) {
      factors[b] = 1 / std::sqrt(squares / depth + Config::eps);
    }
  }
  ParallelFor(outputs, [&](int n) {
    auto row_of = [&](const std::vector<bf16>& matrix) {
      std::vector<double> row(matrix.size() < size_t(outputs) * depth ? 0 : depth);
      for (size_t k = 0; k < row.size(); ++k) {
        row[k] = HostFloat(matrix[size_t(n) * depth + k]);
      }
      return row;
    };
    std::vector<double> weight_row = row_of(weights), up_row = row_of(up_weights);
    for (int b = 0; b < max_batch; ++b) {
      const double* row = activations.data() + size_t(b) * depth;
      double sum = 0, up = 0;
      for (int k = 0; k < depth; ++k) {
        sum += row[k] * weight_row[k];
        if (Case::kGated) {
          up += row[k] * up_row[k];
        }
      }
      sum *= factors[b];
      up *= factors[b];
      size_t i = size_t(b) * outputs + n;
      if (Config::bias) {
        sum += HostFloat(bias[n]);
      }
      if (Case::kGated) {
        sum = sum / (1 + std::exp(-sum)) * up;
      }
      sum = Case::kResidual ? HostFloat(residuals[i]) + sum : sum;
      expected[i] = n < Config::first ? 0 : sum;
    }
  });
  double absolute = 2e-5 * RootMeanSquare(expected);
  double relative = sizeof(typename Case::Out) == 2 ? 1.0 / 250 : 2e-5;

  auto stored = [](const std::vector<bf16>& matrix) { return Stored(matrix, depth, Case::kOrder); };
  // A table in tiles has whole tiles of rows.
  auto rows = x;
  rows.resize(size_t(DivideUp(max_batch, 8)) * 8 * depth);
  Buffer<bf16> device_weights(stored(weights)),
      device_up(Case::kGated ? stored(up_weights) : up_weights), device_norm(norm),
      device_bias(bias), device_residual(residuals), table(stored(rows)), device_x(x.size());
  std::vector<i32> ids(max_batch);
  for (int b = 0; b < max_batch; ++b) {
    ids[b] = b;
  }
  Buffer<i32> device_ids(ids);
  Buffer<typename Case::Out> y(expected.size());
  Buffer<float> largest(expected.size() / 16);
  using Program = GemmProgram<Case>;
  Launcher<Program> launcher;
  for (int batch : batches) {
    Program program{};
    program.copy.table = table.data(), program.copy.ids = device_ids.data();
    program.copy.x = device_x.data();
    auto& args = program.gemm;
    const bf16* w = device_weights.data();
    args.x = device_x.data(), args.x_0 = batch, args.y = y.data();
    args.w = args.w_gate = args.wq = w, args.w_up = device_up.data();
    args.wk = w + size_t(args.wq_0) * depth, args.wv = args.wk + size_t(args.wk_0) * depth;
    args.norm = device_norm.data(), args.bias = device_bias.data();
    args.residual = device_residual.data(), args.largest = largest.data();
    if constexpr (Config::bias && Case::kQkv) {
      args.bq = device_bias.data(), args.bk = args.bq + args.wq_0, args.bv = args.bk + args.wk_0;
    }
    std::string what = std::string(name) + " batch " + std::to_string(batch);
    std::vector<typename Case::Out> first;
    int different = 0;
    for (int launch = 0; launch < kLaunches; ++launch) {
      y.Fill(0xff);
      largest.Fill(0xff);
      device_x.Fill(0xff);
      launcher.Launch(program);
      auto result = y.Read();
      if constexpr (Case::kLargest) {
        report.Check(SameBits(largest.Read(), LargestOfBlocks(result, batch, outputs)),
                     what + ": the largest of a block");
      }
      if (launch == 0) {
        first = result;
        auto outputs_only = result;
        bool untouched = true;
        for (size_t i = 0; i < result.size(); ++i) {
          if (i >= size_t(batch) * outputs || int(i % outputs) < Config::first) {
            typename Case::Out poison;
            std::memset(&poison, 0xff, sizeof(poison));
            untouched &= std::memcmp(&result[i], &poison, sizeof(poison)) == 0;
            outputs_only[i] = {};
          }
        }
        report.Check(untouched, what + ": wrote beyond the batch, or before its first output");
        report.CheckClose(outputs_only, expected, size_t(batch) * outputs, relative, absolute,
                          what);
      }
      different += !SameBits(result, first);
    }
    report.Check(different == 0, what + ": " + std::to_string(different) + " launches differ");
  }
}

}  // namespace etc::test
