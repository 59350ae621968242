// PostNormGemm behind an op that writes its row in the same launch, flagged or not, against sums in
// double.
#pragma once

#include "gemm_test.cuh"
#include "tile/gemm/post_norm_gemm.cuh"

namespace etc::test {

/// Shapes as in GemmCase, and how many parts are added up. The tasks of an SM are done in their
/// order, or with `backwards` the last first.
template <int depth, int all_outputs, int tile_rows, int part_count, class Epilogue, class Weights,
          class Output, bool is_single, bool flagged, Order order = Order::kSwizzled,
          bool backwards = false>
struct PostNormCase {
  static constexpr bool kQkv = std::is_same<Weights, qkv>::value;
  static constexpr bool kGated = Epilogue::kInputs == 2;
  static constexpr int outputs = OutputsToTest(all_outputs, tile_rows, kQkv);
  static constexpr int kDepth = depth, kOutputs = outputs, kParts = part_count;
  static constexpr Order kOrder = order;
  static constexpr bool kFlagged = flagged, kBackwards = backwards;
  using Out = Output;
  struct Config {
    static constexpr i64 rows = tile_rows, max_batch = 1;
    using epilogue = Epilogue;
    using weights = Weights;
    static constexpr bool single = is_single;
    static constexpr float eps = 1e-6f, norm_offset = 1;
  };
  template <class T>
  using Input = typename std::conditional<flagged, Flagged<T>, T*>::type;
  struct Args : Layouts<order> {
    Input<bf16> x;
    long long x_0;
    static constexpr long long x_1 = depth;
    Input<float> partials;
    static constexpr long long partials_0 = part_count, partials_2 = depth;
    long long partials_1;
    const bf16 *post_norm, *norm, *w, *w_gate, *w_up, *wq, *wk, *wv;
    static constexpr long long wq_0 = outputs / 2, wk_0 = outputs / 4, wv_0 = outputs / 4;
    bf16* h;
    Output* y;
    static constexpr long long y_1 = outputs;
  };
  using Kernel = PostNormGemm<Config, Args>;
  static constexpr int kTasks = DivideUp(outputs, tile_rows / Epilogue::kInputs);
};

template <class Case>
struct PostNormGemmProgram {
  using Gemm = typename Case::Kernel;
  static constexpr int kSlotBytes = Gemm::kSlotBytes;
  static constexpr int kScratchBytes = Gemm::kScratchBytes;
  static constexpr int kPartialsBytes = ReductionOf<Gemm>::kPartialsBytes;

  const bf16* x;
  const float* partials;
  typename Case::Args gemm;

  template <class Body>
  static ETC_DEVICE void ForTasks(Body body) {
    Share(Case::kTasks, 1, [&](int task) { body(Case::kBackwards ? LastOf(task) : task); });
  }
  /// Of the tasks of this SM, the one as far from the last as `task` is from the first.
  static ETC_DEVICE int LastOf(int task) {
    int sms = int(gridDim.x), first = task % sms;
    return first + (Case::kTasks - 1 - first) / sms * sms - task / sms * sms;
  }
  ETC_DEVICE void Load(Loader& loader) const {
    ForTasks([&](int m) { Gemm::Load(loader, gemm, m); });
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    if (HasTask(1, 0)) {
      for (int i = consumer.thread; i < Case::kDepth; i += Consumer::kThreads) {
        StoreElement(gemm.x, i, ToFloat(x[i]));
      }
      for (int i = consumer.thread; i < Case::kDepth * Case::kParts; i += Consumer::kThreads) {
        StoreElement(gemm.partials, i, partials[i]);
      }
      if constexpr (!Case::kFlagged) {
        events.Notify(consumer, 0, 1);
      }
    }
    if (HasTask(Case::kTasks, 1)) {
      if constexpr (!Case::kFlagged) {
        events.WaitOne(consumer, 0, 1);
      }
      consumer.Sync();
      Gemm op(consumer, gemm);
      ForTasks([&](int m) { op.Run(consumer, gemm, m); });
    }
  }
  ETC_DEVICE void Reduce(EpilogueWarp& epilogue_warp, const Events&) const {
    if constexpr (ReductionOf<Gemm>::kExists) {
      if (HasTask(Case::kTasks, 1)) {
        ReductionOf<Gemm> reduction(epilogue_warp, gemm);
        ForTasks([&](int m) { reduction.Run(epilogue_warp, gemm, m); });
      }
    }
  }
};

/// The same with the row in flagged memory.
template <class Case>
struct FlaggedPostNormGemm : PostNormGemmProgram<Case> {
  static constexpr int kBytesOfX = (Case::kDepth * 4 + 255) / 256 * 256;
  char* memory;  // a header, x, partials

  ETC_DEVICE FlagState OpenFlags() const { return FlagState(memory); }
  ETC_DEVICE i64 FlaggedBytes() const {
    return kBytesOfX + (Case::kDepth * Case::kParts * 8 + 255) / 256 * 256;
  }
  ETC_DEVICE void UseSet(u32 set) {
    char* buffers = memory + FlagState::kHeaderBytes;
    this->gemm.x = Flagged<bf16>(buffers, set);
    this->gemm.partials = Flagged<float>(buffers + kBytesOfX, set);
  }
};

/// What the row and the weights of a case should give: h, and y.
template <class Case>
void ExpectPostNormGemm(const std::vector<bf16>& x, const std::vector<float>& sums,
                        const std::vector<bf16>& post_norm, const std::vector<bf16>& norm,
                        const std::vector<bf16>& weights, const std::vector<bf16>& up_weights,
                        std::vector<double>& h, std::vector<double>& y) {
  constexpr int depth = Case::kDepth, outputs = Case::kOutputs;
  std::vector<double> row(depth), normed(depth);
  h.assign(depth, 0), y.assign(outputs, 0);
  double squares = 0;
  for (int k = 0; k < depth; ++k) {
    for (int p = 0; p < Case::kParts; ++p) {
      row[k] += sums[size_t(p) * depth + k];
    }
    squares += row[k] * row[k];
  }
  double scale = 1 / std::sqrt(squares / depth + 1e-6);
  squares = 0;
  for (int k = 0; k < depth; ++k) {
    h[k] = Rounded(HostFloat(x[k]) + row[k] * scale * (1 + HostFloat(post_norm[k])));
    squares += h[k] * h[k];
  }
  scale = 1 / std::sqrt(squares / depth + 1e-6);
  for (int k = 0; k < depth; ++k) {
    normed[k] = Rounded(h[k] * scale * (1 + HostFloat(norm[k])));
  }
  ParallelFor(outputs, [&](int n) {
    double sum = 0, up = 0;
    for (int k = 0; k < depth; ++k) {
      sum += normed[k] * HostFloat(weights[size_t(n) * depth + k]);
      up += Case::kGated ? normed[k] * HostFloat(up_weights[size_t(n) * depth + k]) : 0;
    }
    double gelu = sum / (1 + std::exp(-1.5957691216057308 * (sum + 0.044715 * sum * sum * sum)));
    y[n] = Case::kGated ? gelu * up : sum;
  });
}

template <class Case>
void TestPostNormGemmOf(Report& report, const std::string& name) {
  constexpr int depth = Case::kDepth, outputs = Case::kOutputs, parts = Case::kParts;
  Random random(depth * 31 + outputs + parts);
  float scale = std::sqrt(3.0f / depth);
  auto weights = random.Bf16(size_t(outputs) * depth, scale);
  auto up_weights = random.Bf16(Case::kGated ? size_t(outputs) * depth : 8, scale);
  auto post_norm = random.Bf16(depth, 0.3f), norm = random.Bf16(depth, 0.3f);
  auto old = random.Bf16(depth, 2.0f);
  std::vector<float> sums(size_t(depth) * parts);
  for (float& value : sums) {
    value = random.Value(20.0f);
  }
  std::vector<double> expected_h, expected;
  ExpectPostNormGemm<Case>(old, sums, post_norm, norm, weights, up_weights, expected_h, expected);

  auto stored = [](const std::vector<bf16>& matrix) { return Stored(matrix, depth, Case::kOrder); };
  Buffer<bf16> device_weights(stored(weights)),
      device_up(Case::kGated ? stored(up_weights) : up_weights), device_post(post_norm),
      device_norm(norm), given_x(old), x(depth), h(depth);
  Buffer<float> given_partials(sums), partials(sums.size());
  Buffer<char> memory(FlagState::kHeaderBytes + depth * (4 + 8 * parts) + 512);
  memory.Fill(0);
  Buffer<typename Case::Out> y(outputs);
  using Program = typename std::conditional<Case::kFlagged, FlaggedPostNormGemm<Case>,
                                            PostNormGemmProgram<Case>>::type;
  Program program{};
  program.x = given_x.data(), program.partials = given_partials.data();
  auto& args = program.gemm;
  if constexpr (Case::kFlagged) {
    program.memory = memory.data();
  } else {
    args.x = x.data(), args.partials = partials.data();
  }
  args.x_0 = args.partials_1 = 1;
  args.post_norm = device_post.data(), args.norm = device_norm.data();
  args.w = args.w_gate = args.wq = device_weights.data(), args.w_up = device_up.data();
  args.wk = args.w + size_t(args.wq_0) * depth, args.wv = args.wk + size_t(args.wk_0) * depth;
  args.h = h.data(), args.y = y.data();

  Launcher<Program> launcher;
  std::vector<typename Case::Out> first;
  int different = 0;
  for (int launch = 0; launch < kLaunches; ++launch) {
    x.Fill(0xff), partials.Fill(0xff), h.Fill(0xff), y.Fill(0xff);
    launcher.Launch(program);
    auto result = y.Read();
    if (launch == 0) {
      first = result;
      report.CheckClose(h.Read(), expected_h, expected_h.size(), 1.0 / 200, 1e-3, name + ": h");
      report.CheckClose(result, expected, expected.size(),
                        sizeof(typename Case::Out) == 2 ? 1.0 / 250 : 1e-4,
                        1e-3 * RootMeanSquare(expected), name);
    }
    different += !SameBits(result, first);
  }
  report.Check(different == 0, name + ": " + std::to_string(different) + " launches differ");
}

inline void TestPostNormGemm(Report& report) {
  using F = float;
  using H = bf16;
  constexpr bool kFlagged = true, kPlain = false;
  TestPostNormGemmOf<PostNormCase<1152, 2400, 16, 1, gelu_mul, plain, H, false, kFlagged>>(
      report, "post norm k1152 gelu");
  TestPostNormGemmOf<PostNormCase<1152, 2400, 16, 3, gelu_mul, plain, H, false, kPlain>>(
      report, "post norm k1152 of 3 parts gelu");
  TestPostNormGemmOf<PostNormCase<2560, 2400, 16, 2, gelu_mul, plain, H, false, kFlagged>>(
      report, "post norm k2560 of 2 parts gelu");
  // Warps that have fewer elements than others, or none.
  TestPostNormGemmOf<PostNormCase<96, 2400, 8, 2, store, plain, F, false, kFlagged, Order::kRows>>(
      report, "post norm k96 of 2 parts");
  TestPostNormGemmOf<PostNormCase<1056, 2368, 8, 1, store, plain, F, false, kPlain>>(
      report, "post norm k1056");
  TestPostNormGemmOf<PostNormCase<5376, 1200, 16, 1, gelu_mul, plain, H, false, kFlagged>>(
      report, "post norm k5376 gelu");
  TestPostNormGemmOf<PostNormCase<2560, 4096, 16, 1, store, qkv, H, false, kFlagged>>(
      report, "post norm k2560 qkv");
  TestPostNormGemmOf<PostNormCase<1152, 1536, 16, 1, store, qkv, H, true, kFlagged>>(
      report, "post norm single k1152 qkv");
  TestPostNormGemmOf<PostNormCase<576, 3080, 48, 2, gelu_mul, plain, H, true, kPlain>>(
      report, "post norm single k576 of 2 parts gelu");
  // Task 0 stores h, also where another is the first of its SM.
  TestPostNormGemmOf<
      PostNormCase<1152, 2400, 16, 1, gelu_mul, plain, H, false, kFlagged, Order::kSwizzled, true>>(
      report, "post norm backwards");
}

}  // namespace etc::test
