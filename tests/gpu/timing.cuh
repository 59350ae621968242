// What the tile kernels reach: streamed bytes per second, and a chain of dependent layers.
#pragma once

#include "attention_test.cuh"
#include "gemm_test.cuh"
#include "stopwatch.cuh"
#include "tile/pointwise/scalar.cuh"

namespace etc::test {

/// The same loader as SkinnyGemm; consumers that only give the slots back.
template <class Case, bool computes>
struct StreamProgram {
  using Gemm = typename Case::Kernel;
  static constexpr int kSlotBytes = Gemm::kSlotBytes;
  static constexpr int kScratchBytes = Gemm::kScratchBytes;
  static constexpr int kPartialsBytes = Gemm::Reduction::kPartialsBytes;
  static constexpr int kChunks =
      SkinnyGemmShape<typename Case::Config, typename Case::Args>::kChunks;

  typename Case::Args gemm;
  int repeats;
  int cap;

  ETC_DEVICE void Load(Loader& loader) const {
    loader.in_flight_limit = cap;
#pragma unroll 1
    for (int i = 0; i < repeats; ++i) {
      Share(Case::kTasks, i * Case::kTasks, [&](int m) { Gemm::Load(loader, gemm, m); });
    }
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events&) const {
#pragma unroll 1
    for (int i = 0; i < repeats; ++i) {
      if constexpr (computes) {
        consumer.Sync();
        Gemm op(consumer, gemm);
        Share(Case::kTasks, i * Case::kTasks, [&](int m) { op.Run(consumer, gemm, m); });
      } else {
        Share(Case::kTasks, i * Case::kTasks, [&](int) {
#pragma unroll 1
          for (int chunk = 0; chunk < kChunks; ++chunk) {
            consumer.WaitAddress();
            consumer.Release(0);
          }
        });
      }
    }
  }
  ETC_DEVICE void Reduce(EpilogueWarp& epilogue_warp, const Events&) const {
#pragma unroll 1
    for (int i = 0; computes && i < repeats; ++i) {
      typename Gemm::Reduction reduction(epilogue_warp, gemm);
      Share(Case::kTasks, i * Case::kTasks, [&](int m) { reduction.Run(epilogue_warp, gemm, m); });
    }
  }
};

template <Order order, int depth, int outputs, int rows, int chunk, int max_batch,
          class Output = float>
void TimeStream() {
  using Case =
      GemmCase<depth, outputs, rows, max_batch, store, plain, false, false, Output, chunk, order>;
  Buffer<bf16> weights(size_t(depth) * outputs), x(size_t(max_batch) * depth);
  weights.Fill(0x3c);
  x.Fill(0x3c);
  Buffer<Output> y(size_t(max_batch) * outputs);
  constexpr int repeats = 8;
  constexpr int slots = Block<Case::Kernel::kSlotBytes, Case::Kernel::kScratchBytes,
                              Case::Kernel::Reduction::kPartialsBytes, kSharedBytes,
                              HelperRegisters<typename Case::Kernel>::value>::kSlots;
  double bytes = 2.0 * depth * outputs * repeats;
  typename Case::Args args{};
  args.x = x.data(), args.w = weights.data(), args.y = y.data();
  Launcher<StreamProgram<Case, true>> compute;
  Launcher<StreamProgram<Case, false>> stream;
  std::printf("k %5d n %6d rows %2d chunk %4d max_batch %2d %s:", depth, outputs, rows, chunk,
              max_batch, order == Order::kRows ? "rows " : "tiles");
  for (int cap : {slots, 3}) {
    args.x_0 = max_batch;
    double alone = bytes / MedianTime(stream, {args, repeats, cap}, 5) * 1e-6;
    double full = bytes / MedianTime(compute, {args, repeats, cap}, 5) * 1e-6;
    args.x_0 = 1;
    double one = bytes / MedianTime(compute, {args, repeats, cap}, 5) * 1e-6;
    std::printf(" cap %d: ring alone %.2f, batch 1 %.2f, batch %d %.2f TB/s%s", cap, alone, one,
                max_batch, full, cap == 3 ? "\n" : ";");
  }
}

/// The same weights by rows and in tiles.
template <int depth, int outputs, int rows, int chunk, int max_batch, class Output = float>
void TimeLayouts() {
  TimeStream<Order::kRows, depth, outputs, rows, chunk, max_batch, Output>();
  TimeStream<Order::kTiles, depth, outputs, rows, chunk, max_batch, Output>();
}

/// What this card can stream: whole slots by one copy each.
template <int bytes>
struct CopyProgram {
  static constexpr int kSlotBytes = bytes;
  static constexpr int kScratchBytes = 0;

  const char* source;
  int slots;

  ETC_DEVICE void Load(Loader& loader) const {
    loader.in_flight_limit = 96 * 1024 / bytes;
    Share(slots, 0, [&](int i) {
      u32 slot = loader.Acquire();
      loader.Expect(bytes);
      loader.Copy(slot, source + i64(i) * bytes, bytes);
      loader.Advance();
    });
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events&) const {
    Share(slots, 0, [&](int) {
      consumer.WaitAddress();
      consumer.Release(0);
    });
  }
};

template <int bytes>
void TimeCopy() {
  constexpr size_t total = size_t(2) << 30;
  Buffer<char> source(total);
  Launcher<CopyProgram<bytes>> launcher;
  float time = MedianTime(launcher, {source.data(), int(total / bytes)}, 5);
  std::printf("copies of %d bytes: %.2f TB/s\n", bytes, total / time * 1e-6);
}

/// Layers of gate and up, then down, of a model of hidden size `hidden`: two dependent stages in
/// each.
template <int hidden, int inner, int up_rows, int down_rows, int max_batch, Order order>
struct ChainProgram {
  using UpCase = GemmCase<hidden, inner, up_rows, max_batch, silu_mul, plain, true, false, bf16,
                          8192 / up_rows, order>;
  using DownCase = GemmCase<inner, hidden, down_rows, max_batch, residual, plain, false, false,
                            bf16, 8192 / down_rows, order>;
  using Up = typename UpCase::Kernel;
  using Down = typename DownCase::Kernel;
  static constexpr int kSlotBytes =
      Up::kSlotBytes > Down::kSlotBytes ? Up::kSlotBytes : Down::kSlotBytes;
  static constexpr int kScratchBytes = 0;
  static constexpr int kPartialsBytes =
      LargerOf(Up::Reduction::kPartialsBytes, Down::Reduction::kPartialsBytes);
  static constexpr size_t kLayerWeights = size_t(3) * hidden * inner;

  typename UpCase::Args up;
  typename DownCase::Args down;
  int layers;
  bool waits;
  int cap;

  ETC_DEVICE void Layer(int layer, typename UpCase::Args& u, typename DownCase::Args& d) const {
    u = up, d = down;
    size_t offset = size_t(layer) * kLayerWeights;
    u.w_gate += offset, u.w_up += offset, d.w += offset;
  }
  ETC_DEVICE void Load(Loader& loader) const {
    loader.in_flight_limit = cap;
#pragma unroll 1
    for (int layer = 0; layer < layers; ++layer) {
      typename UpCase::Args u;
      typename DownCase::Args d;
      Layer(layer, u, d);
      int first = layer * (UpCase::kTasks + DownCase::kTasks);
      Share(UpCase::kTasks, first, [&](int m) { Up::Load(loader, u, m); });
      Share(DownCase::kTasks, first + UpCase::kTasks, [&](int m) { Down::Load(loader, d, m); });
    }
  }
  template <class Kernel, class Args>
  ETC_DEVICE void Stage(Consumer& consumer, const Events& events, const Args& args, int tasks,
                        int first, int wait_event, int count) const {
    if (!HasTask(tasks, first)) {
      return;
    }
    if (waits && wait_event >= 0) {
      events.WaitOne(consumer, wait_event, count);
    }
    consumer.Sync();
    Kernel op(consumer, args);
    Share(tasks, first, [&](int m) { op.Run(consumer, args, m); });
  }
  template <class Kernel, class Args>
  ETC_DEVICE void Join(EpilogueWarp& epilogue_warp, const Events& events, const Args& args,
                       int tasks, int first, int notify_event) const {
    if (HasTask(tasks, first)) {
      typename Kernel::Reduction reduction(epilogue_warp, args);
      Share(tasks, first, [&](int m) { reduction.Run(epilogue_warp, args, m); });
      events.Notify(epilogue_warp, notify_event, 1);
    }
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    int sms = int(gridDim.x);
    int up_ctas = min(sms, UpCase::kTasks), down_ctas = min(sms, DownCase::kTasks);
#pragma unroll 1
    for (int layer = 0; layer < layers; ++layer) {
      typename UpCase::Args u;
      typename DownCase::Args d;
      Layer(layer, u, d);
      int first = layer * (UpCase::kTasks + DownCase::kTasks);
      Stage<Up>(consumer, events, u, UpCase::kTasks, first, layer * 2 - 1, down_ctas);
      Stage<Down>(consumer, events, d, DownCase::kTasks, first + UpCase::kTasks, layer * 2,
                  up_ctas);
    }
  }
  ETC_DEVICE void Reduce(EpilogueWarp& epilogue_warp, const Events& events) const {
#pragma unroll 1
    for (int layer = 0; layer < layers; ++layer) {
      typename UpCase::Args u;
      typename DownCase::Args d;
      Layer(layer, u, d);
      int first = layer * (UpCase::kTasks + DownCase::kTasks);
      Join<Up>(epilogue_warp, events, u, UpCase::kTasks, first, layer * 2);
      Join<Down>(epilogue_warp, events, d, DownCase::kTasks, first + UpCase::kTasks, layer * 2 + 1);
    }
  }
};

/// Times the chain, and checks that all launches give the same bits.
template <int hidden, int inner, int up_rows, int down_rows, int max_batch, Order order>
void TimeChain(Report& report, const char* name, int layers) {
  using Program = ChainProgram<hidden, inner, up_rows, down_rows, max_batch, order>;
  Random random(3);
  Buffer<bf16> weights(Program::kLayerWeights * layers);
  auto block = random.Bf16(size_t(1) << 20, std::sqrt(3.0f / inner));
  for (size_t i = 0; i + block.size() <= Program::kLayerWeights * layers; i += block.size()) {
    CUDA_OK(cudaMemcpy(weights.data() + i, block.data(), block.size() * 2, cudaMemcpyHostToDevice));
  }
  auto start = random.Bf16(size_t(max_batch) * hidden, 1.0f);
  auto ones = random.Bf16(hidden, 0.25f, 1.0f);
  Buffer<bf16> x(start), norm(ones), y(size_t(max_batch) * inner);
  Program program{};
  program.layers = layers, program.waits = true, program.cap = 12;
  program.up.x = x.data(), program.up.x_0 = max_batch, program.up.norm = norm.data();
  program.up.w_gate = weights.data(), program.up.w_up = weights.data() + size_t(hidden) * inner;
  program.up.y = y.data();
  program.down.x = y.data(), program.down.x_0 = max_batch;
  program.down.w = weights.data() + size_t(2) * hidden * inner;
  program.down.residual = x.data(), program.down.y = x.data();
  Launcher<Program> launcher;
  std::vector<bf16> first;
  int different = 0;
  for (int launch = 0; launch < 20; ++launch) {
    x.Write(start);
    y.Fill(0xff);
    launcher.Launch(program);
    auto result = x.Read();
    if (launch == 0) {
      first = result;
    }
    different += !SameBits(result, first);
  }
  report.Check(different == 0,
               std::string(name) + ": " + std::to_string(different) + " launches differ");
  double floor = 2.0 * Program::kLayerWeights * layers / 4.72e6;
  std::printf("chain %s, %d stages, rows %d and %d, %s: floor %.0f us\n", name, 2 * layers, up_rows,
              down_rows, order == Order::kRows ? "rows" : "tiles", floor);
  for (int cap : {6, 4, 3, 2}) {
    program.cap = cap, program.waits = true;
    program.up.x_0 = program.down.x_0 = max_batch;
    float full = MedianTime(launcher, program, 10);
    program.up.x_0 = program.down.x_0 = 1;
    float one = MedianTime(launcher, program, 10);
    program.waits = false;
    float free_running = MedianTime(launcher, program, 10);
    std::printf(
        "  cap %2d: batch 1 %.0f us (%.0f%%), batch %d %.0f us, batch 1 without waits %.0f us\n",
        cap, one, 100 * floor / one, max_batch, full, free_running);
  }
}

/// Attention with nothing beside it, 8 KV heads: in as many splits as make 128 tasks, with the
/// combine, and where there is one split by UnsplitAttention too, with what shared memory the wide
/// GEMMs of a program leave to it, in slots of 32 KB. `cap` is the number of slots on their way.
template <int group, int dim>
void TimeAttention(int batch, int position) {
  using Case = AttentionCase<group, dim, true, 8>;
  int splits = std::max(1, 128 / (batch * Case::kKvHeads));
  int max_pages = position / kPageSize + 1;
  int num_pages = batch * max_pages;
  size_t cache = size_t(num_pages) * Case::kKvHeads * kPageSize * dim;
  Buffer<bf16> qkv(size_t(batch) * Case::kRow), norm(dim), k(cache), v(cache),
      out(size_t(batch) * Case::kHeads * dim);
  for (auto* buffer : {&qkv, &norm, &k, &v}) {
    buffer->Fill(0x3c);
  }
  Buffer<float> freq(dim / 2), partial(size_t(batch) * Case::kHeads * splits * (dim + 2));
  freq.Fill(0x3c);
  Random random(1);
  Buffer<i32> pos(std::vector<i32>(batch, position)),
      pages(ShuffledPages(random, num_pages, num_pages));
  typename Case::Args args{};
  args.qkv = qkv.data(), args.pos = pos.data(), args.inv_freq = freq.data();
  args.q_norm = args.k_norm = norm.data();
  args.k_cache = k.data(), args.v_cache = v.data();
  args.page_table = pages.data(), args.page_table_1 = max_pages;
  args.partial = partial.data(), args.partial_2 = splits, args.out = out.data();
  double bytes = 4.0 * batch * Case::kKvHeads * position * dim;
  std::printf("attention group %d dim %d, batch %3d, %4d positions, %2d splits:", group, dim, batch,
              position, splits);
  auto time = [&](auto program, const char* name, std::initializer_list<int> caps) {
    Launcher<decltype(program)> launcher;
    program.args = args, program.batch = batch;
    std::printf(" %s:", name);
    for (int cap : caps) {
      program.cap = cap;
      float microseconds = MedianTime(launcher, program, 10);
      std::printf(" %.1f us, %.2f TB/s;", microseconds, bytes / microseconds * 1e-6);
    }
  };
  time(AttentionProgram<Case>{}, "splits, in flight 3", {3});
  if (splits == 1) {
    time(WholeProgram<Case>{}, "whole, in flight 3, 6", {3, 6});
    time(WholeProgram<Case, 85 << 10>{}, "of 4 slots, in flight 3, 4", {3, 4});
    time(WholeProgram<Case, 102 << 10>{}, "of 3 slots, in flight 3", {3});
  }
  std::printf("\n");
}

template <int group, int dim>
void TimeAttentions() {
  for (int position : {512, 4000}) {
    for (int batch : {1, 8, 16, 32, 64, 128}) {
      TimeAttention<group, dim>(batch, position);
    }
  }
}

inline void TimeAll(Report& report) {
  TimeCopy<32768>();
  TimeCopy<16384>();
  TimeLayouts<1024, 151936, 8, 1024, 8>();
  TimeLayouts<1024, 151936, 16, 512, 8>();
  TimeLayouts<4096, 24576, 8, 1024, 8>();
  TimeLayouts<4096, 24576, 16, 512, 8>();
  TimeLayouts<4096, 24576, 16, 1024, 8>();
  TimeLayouts<12288, 4096, 8, 1024, 8, bf16>();
  TimeLayouts<12288, 4096, 16, 512, 8, bf16>();
  TimeChain<1024, 3072, 16, 8, 8, Order::kRows>(report, "1024, 3072", 28);
  TimeChain<1024, 3072, 16, 8, 8, Order::kTiles>(report, "1024, 3072", 28);
  TimeChain<2048, 8192, 16, 8, 8, Order::kRows>(report, "2048, 8192", 16);
  TimeChain<2048, 8192, 16, 8, 8, Order::kTiles>(report, "2048, 8192", 16);
  TimeChain<4096, 12288, 16, 16, 8, Order::kRows>(report, "4096, 12288", 36);
  TimeChain<4096, 12288, 16, 16, 8, Order::kTiles>(report, "4096, 12288", 36);
  TimeAttentions<2, 128>();
  TimeAttentions<4, 128>();
  TimeAttentions<5, 128>();
  TimeAttentions<8, 128>();
  TimeAttentions<4, 64>();
}

}  // namespace etc::test
