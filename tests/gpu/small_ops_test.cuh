// ArgMaxPartial and ArgMaxFinal behind each other, ArgMaxOfBlocks; RmsNorm and SiluMul behind each
// other; StreamMax.
#pragma once

#include <limits>

#include "support.cuh"
#include "tile/pointwise/argmax.cuh"
#include "tile/pointwise/rms_norm.cuh"
#include "tile/pointwise/silu_mul.cuh"
#include "tile/pointwise/stream_max.cuh"

namespace etc::test {

template <int vocabulary, int chunk_size>
struct ArgMaxProgram {
  static constexpr int kBatch = 3, kVocabulary = vocabulary, kChunk = chunk_size;
  static constexpr int kChunks = (kVocabulary + kChunk - 1) / kChunk;
  struct Config {
    static constexpr i64 chunk = kChunk;
  };
  struct Args {
    const float* logits;
    static constexpr long long logits_1 = kVocabulary;
    float* best_value;
    static constexpr long long best_value_1 = kChunks;
    i32* best_index;
    static constexpr long long best_index_1 = kChunks;
    i32* token;
  };
  using Partial = ArgMaxPartial<Config, Args>;
  using Final = ArgMaxFinal<Config, Args>;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = Partial::kScratchBytes;

  Args args;

  ETC_DEVICE void Load(Loader&) const {}
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    Partial partial(consumer, args);
    Share(kBatch * kChunks, 0, [&](int task) {
      partial.Run(consumer, args, task / kChunks, task % kChunks);
      events.Notify(consumer, task / kChunks, 1);
    });
    Final last(consumer, args);
    Share(kBatch, kBatch * kChunks, [&](int b) {
      events.Wait(consumer, b, kChunks);
      last.Run(consumer, args, b);
    });
  }
};

template <class Program>
void TestArgMaxOf(Report& report) {
  constexpr int n = Program::kVocabulary, batch = Program::kBatch;
  Random random(5);
  std::vector<float> logits(size_t(batch) * n);
  for (float& value : logits) {
    value = random.Value(8.0f) - 20.0f;
  }
  // Equals in one chunk, in several chunks, and in the ragged last one.
  const std::vector<i32> expected = {700, 2047, n - 1};
  for (int i : {700, 701, 1023}) {
    logits[i] = 9.0f;
  }
  for (int i : {2047, 2048, 40000}) {
    logits[n + i] = -1.0f;
  }
  logits[2 * n + n - 1] = 0.0f;
  Buffer<float> device_logits(logits), value(batch * Program::kChunks);
  Buffer<i32> index(batch * Program::kChunks), token(batch);
  Launcher<Program> launcher;
  int different = 0;
  for (int launch = 0; launch < kLaunches; ++launch) {
    value.Fill(0xff);
    index.Fill(0xff);
    token.Fill(0xff);
    launcher.Launch({{device_logits.data(), value.data(), index.data(), token.data()}});
    different += !SameBits(token.Read(), expected);
  }
  report.Check(different == 0, "argmax: " + std::to_string(different) + " launches wrong");
}
template <int vocabulary>
struct BlocksProgram {
  static constexpr int kBatch = 4, kVocabulary = vocabulary, kBlock = 16;
  struct Args {
    const float* logits;
    static constexpr long long logits_1 = kVocabulary;
    const float* largest;
    static constexpr long long largest_0 = kVocabulary / kBlock;
    long long largest_1;
    i32* token;
  };
  using ArgMax = ArgMaxOfBlocks<void, Args>;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = ArgMax::kScratchBytes;

  Args args;

  ETC_DEVICE void Load(Loader&) const {}
  ETC_DEVICE void Consume(Consumer& consumer, const Events&) const {
    ArgMax op(consumer, args);
    Share(kBatch, 0, [&](int b) { op.Run(consumer, args, b); });
  }
};

/// Equals in one block, in several blocks, and in the last one; a row of not-a-numbers, whose token
/// is of the last block, as good as any.
template <class Program>
void TestArgMaxOfBlocks(Report& report) {
  constexpr int n = Program::kVocabulary, batch = Program::kBatch, block = Program::kBlock;
  Random random(6);
  std::vector<float> logits(size_t(batch) * n), largest(logits.size() / block, std::nanf(""));
  for (float& value : logits) {
    value = random.Value(8.0f) - 20.0f;
  }
  const std::vector<i32> expected = {705, 2047, n - 1, 0};
  for (int i : {705, 706, 711}) {
    logits[i] = 9.0f;
  }
  for (int i : {2047, 2048, 40000}) {
    logits[n + i] = -1.0f;
  }
  logits[2 * n + n - 1] = 0.0f;
  logits[704] = std::nanf("");
  std::fill(logits.begin() + 3 * n, logits.end(), std::nanf(""));
  for (size_t i = 0; i < logits.size(); ++i) {
    float& of_block = largest[i % n / block * batch + i / n];
    of_block = std::fmax(of_block, logits[i]);
  }
  Buffer<float> device_logits(logits), device_largest(largest);
  Buffer<i32> token(batch);
  Launcher<Program> launcher;
  int different = 0;
  for (int launch = 0; launch < kLaunches; ++launch) {
    token.Fill(0xff);
    launcher.Launch({{device_logits.data(), device_largest.data(), batch, token.data()}});
    different += !SameBits(token.Read(), expected);
  }
  report.Check(different == 0,
               "argmax of blocks: " + std::to_string(different) + " launches wrong");
}

/// Element by element, and in pieces of 16 bytes; blocks that are all on their way at once, and
/// more.
inline void TestArgMax(Report& report) {
  TestArgMaxOf<ArgMaxProgram<50257, 1024>>(report);
  TestArgMaxOf<ArgMaxProgram<50304, 9600>>(report);
  TestArgMaxOfBlocks<BlocksProgram<50304>>(report);
  TestArgMaxOfBlocks<BlocksProgram<262208>>(report);
}

struct NormGateProgram {
  static constexpr int kBatch = 5, kDepth = 3000, kChunk = 1024;
  static constexpr int kChunks = (kDepth + kChunk - 1) / kChunk;
  struct Config {
    static constexpr i64 chunk = kChunk;
    static constexpr float eps = 1e-5f;
  };
  struct NormArgs {
    const bf16* x;
    static constexpr long long x_1 = kDepth;
    const bf16* norm;
    float* y;
  };
  struct GateArgs {
    const float *gate, *up;
    float* y;
    static constexpr long long y_1 = kDepth;
  };
  using Norm = RmsNorm<Config, NormArgs>;
  using Gate = SiluMul<Config, GateArgs>;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = Norm::kScratchBytes;

  NormArgs norm;
  GateArgs gate;

  ETC_DEVICE void Load(Loader&) const {}
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    Norm first(consumer, norm);
    Share(kBatch, 0, [&](int b) {
      first.Run(consumer, norm, b);
      events.Notify(consumer, b, 1);
    });
    Gate second(consumer, gate);
    Share(kBatch * kChunks, kBatch, [&](int task) {
      events.Wait(consumer, task / kChunks, 1);
      second.Run(consumer, gate, task / kChunks, task % kChunks);
    });
  }
};

inline void TestNormGate(Report& report) {
  constexpr int depth = NormGateProgram::kDepth, batch = NormGateProgram::kBatch;
  Random random(11);
  auto x = random.Bf16(size_t(batch) * depth, 3.0f), norm = random.Bf16(depth, 0.5f, 1.0f);
  std::vector<float> up(x.size());
  for (float& value : up) {
    value = random.Value(1.0f);
  }
  std::vector<double> normalised(x.size()), gated(x.size());
  for (int b = 0; b < batch; ++b) {
    double squares = 0;
    for (int k = 0; k < depth; ++k) {
      squares += std::pow(HostFloat(x[b * depth + k]), 2);
    }
    for (int k = 0; k < depth; ++k) {
      int i = b * depth + k;
      normalised[i] = HostFloat(x[i]) * HostFloat(norm[k]) / std::sqrt(squares / depth + 1e-5);
      gated[i] = normalised[i] / (1 + std::exp(-normalised[i])) * up[i];
    }
  }
  Buffer<bf16> device_x(x), device_norm(norm);
  Buffer<float> device_up(up), y(x.size()), out(x.size());
  NormGateProgram program{{device_x.data(), device_norm.data(), y.data()},
                          {y.data(), device_up.data(), out.data()}};
  Launcher<NormGateProgram> launcher;
  std::vector<float> first;
  int different = 0;
  for (int launch = 0; launch < kLaunches; ++launch) {
    y.Fill(0xff);
    out.Fill(0xff);
    launcher.Launch(program);
    auto result = out.Read();
    if (launch == 0) {
      first = result;
      report.CheckClose(y.Read(), normalised, normalised.size(), 1e-5, 1e-6, "rms norm");
      report.CheckClose(result, gated, gated.size(), 1e-5, 1e-6, "silu mul");
    }
    different += !SameBits(result, first);
  }
  report.Check(different == 0, "norm, gate: " + std::to_string(different) + " launches differ");
}

struct StreamMaxProgram {
  static constexpr int kTasks = 11, kRows = 72, kColumns = Consumer::kThreads * 4;
  struct Args {
    const i32* x;
    static constexpr long long x_1 = kRows, x_2 = kColumns;
    i32* y;
    static constexpr long long y_1 = kColumns;
  };
  using Max = StreamMax<void, Args>;
  static constexpr int kSlotBytes = Max::kSlotBytes;
  static constexpr int kScratchBytes = Max::kScratchBytes;

  Args args;

  ETC_DEVICE void Load(Loader& loader) const {
    Share(kTasks, 0, [&](int task) { Max::Load(loader, args, task); });
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events&) const {
    Max max(consumer, args);
    Share(kTasks, 0, [&](int task) { max.Run(consumer, args, task); });
  }
};

/// A task is more slots than the ring has. Some columns hold the least integer alone, or have the
/// largest one in their first or last row.
inline void TestStreamMax(Report& report) {
  constexpr int tasks = StreamMaxProgram::kTasks, rows = StreamMaxProgram::kRows;
  constexpr int columns = StreamMaxProgram::kColumns;
  constexpr i32 least = std::numeric_limits<i32>::min(), most = std::numeric_limits<i32>::max();
  Random random(8);
  std::vector<i32> x(size_t(tasks) * rows * columns), expected(size_t(tasks) * columns, least);
  for (int t = 0; t < tasks; ++t) {
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        i32& value = x[(size_t(t) * rows + row) * columns + column];
        bool first = column == 3 && row == 0, last = column == 4 && row == rows - 1;
        value = column == 2 ? least : first || last ? most : i32(random.Bits());
        i32& largest = expected[size_t(t) * columns + column];
        largest = std::max(largest, value);
      }
    }
  }
  Buffer<i32> device_x(x), y(expected.size());
  Launcher<StreamMaxProgram> launcher;
  int different = 0;
  for (int launch = 0; launch < kLaunches; ++launch) {
    y.Fill(0xff);
    launcher.Launch({{device_x.data(), y.data()}});
    different += !SameBits(y.Read(), expected);
  }
  report.Check(different == 0, "stream_max: " + std::to_string(different) + " launches wrong");
}

}  // namespace etc::test
