// Operators joined by flagged buffers against the same operators joined by events: equal bits.
#pragma once

#include <type_traits>

#include "support.cuh"
#include "tile/attention/attention_combine.cuh"
#include "tile/gemm/skinny_gemm.cuh"
#include "tile/pointwise/embedding.cuh"
#include "tile/pointwise/scalar.cuh"

namespace etc::test {

template <bool flagged>
using Activations = typename std::conditional<flagged, Flagged<bf16>, bf16*>::type;

/// x = table[ids]; h = norm(x) w0; y = x + h w1: of `depth` rows and columns.
template <bool flagged, int depth, int tile_rows, bool is_single>
struct FlaggedChain {
  struct CopyArgs {
    const bf16* table;
    static constexpr long long table_1 = depth;
    const i32* ids;
    Activations<flagged> x;
    static constexpr long long x_1 = depth;
  };
  struct GemmArgs {
    Activations<flagged> x;
    long long x_0;
    static constexpr long long x_1 = depth;
    const bf16 *w, *norm;
    Activations<flagged> residual;
    static constexpr long long residual_1 = depth;
    static constexpr long long y_1 = depth;
  };
  struct FirstArgs : GemmArgs {
    Activations<flagged> y;
  };
  struct SecondArgs : GemmArgs {
    bf16* y;
  };
  struct FirstConfig {
    static constexpr i64 rows = tile_rows, max_batch = 8;
    static constexpr bool norm = true, single = is_single;
    static constexpr float eps = 1e-6f;
  };
  struct SecondConfig {
    static constexpr i64 rows = tile_rows, max_batch = 8;
    static constexpr bool single = is_single;
    using epilogue = etc::residual;
  };
  using Copy = Embedding<void, CopyArgs>;
  using First = SkinnyGemm<FirstConfig, FirstArgs>;
  using Second = SkinnyGemm<SecondConfig, SecondArgs>;
  static constexpr int kSlotBytes = First::kSlotBytes;
  static constexpr int kScratchBytes = LargerOf(First::kScratchBytes, Second::kScratchBytes);
  static constexpr int kPartialsBytes =
      LargerOf(First::Reduction::kPartialsBytes, Second::Reduction::kPartialsBytes);
  static constexpr int kTasks = DivideUp(depth, tile_rows);

  CopyArgs copy;
  FirstArgs first;
  SecondArgs second;

  ETC_DEVICE void Load(Loader& loader) const {
    int batch = int(first.x_0);
    Share(kTasks, batch, [&](int m) { First::Load(loader, first, m); });
    Share(kTasks, batch + kTasks, [&](int m) { Second::Load(loader, second, m); });
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    int batch = int(first.x_0);
    if (HasTask(batch, 0)) {
      Copy op(consumer, copy);
      Share(batch, 0, [&](int b) {
        op.Run(consumer, copy, b);
        Notify(consumer, events, 0);
      });
    }
    if (HasTask(kTasks, batch)) {
      Wait(consumer, events, 0, batch);
      First op(consumer, first);
      Share(kTasks, batch, [&](int m) {
        op.Run(consumer, first, m);
        if constexpr (is_single) {
          Notify(consumer, events, 1);
        }
      });
    }
    if (HasTask(kTasks, batch + kTasks)) {
      Wait(consumer, events, 1, kTasks);
      Second op(consumer, second);
      Share(kTasks, batch + kTasks, [&](int m) { op.Run(consumer, second, m); });
    }
  }
  ETC_DEVICE void Reduce(EpilogueWarp& epilogue_warp, const Events& events) const {
    if constexpr (!is_single) {
      ReduceAll(epilogue_warp, events);
    }
  }
  ETC_DEVICE void ReduceAll(EpilogueWarp& epilogue_warp, const Events& events) const {
    int batch = int(first.x_0);
    if (HasTask(kTasks, batch)) {
      typename First::Reduction reduction(epilogue_warp, first);
      Share(kTasks, batch, [&](int m) {
        reduction.Run(epilogue_warp, first, m);
        Notify(epilogue_warp, events, 1);
      });
    }
    if (HasTask(kTasks, batch + kTasks)) {
      typename Second::Reduction reduction(epilogue_warp, second);
      Share(kTasks, batch + kTasks, [&](int m) { reduction.Run(epilogue_warp, second, m); });
    }
  }
  static ETC_DEVICE void Wait(Consumer& consumer, const Events& events, int event, int count) {
    if constexpr (!flagged) {
      events.WaitOne(consumer, event, count);
    }
    consumer.Sync();
  }
  template <class Role>
  static ETC_DEVICE void Notify(Role& role, const Events& events, int event) {
    if constexpr (!flagged) {
      events.Notify(role, event, 1);
    }
  }
};

template <int depth, int tile_rows, bool single>
struct ChainWithFlags : FlaggedChain<true, depth, tile_rows, single> {
  char* memory;  // a header, x, h; where h is depends on the batch

  ETC_DEVICE i64 BufferBytes() const { return (this->first.x_0 * depth * 4 + 255) / 256 * 256; }
  ETC_DEVICE FlagState OpenFlags() const { return FlagState(memory); }
  ETC_DEVICE i64 FlaggedBytes() const { return 2 * BufferBytes(); }
  ETC_DEVICE void UseSet(u32 set) {
    char* buffers = memory + FlagState::kHeaderBytes;
    Flagged<bf16> x(buffers, set), h(buffers + BufferBytes(), set);
    this->copy.x = this->first.x = this->second.residual = x;
    this->first.y = this->second.x = h;
  }
};

/// One launch after the other, the batch now larger, now smaller: what an earlier launch left in
/// the buffers must never be taken for this one's.
template <int depth, int tile_rows, bool single = false>
void TestFlaggedChain(Report& report) {
  Random random(depth + tile_rows);
  constexpr int most = 8, table_rows = 64, launches = !kEmulated ? 200 : depth > 4096 ? 2 : 6;
  Buffer<bf16> table(random.Bf16(size_t(table_rows) * depth, 2.0f));
  Buffer<bf16> w0(random.Bf16(size_t(depth) * depth, 0.05f));
  Buffer<bf16> w1(random.Bf16(size_t(depth) * depth, 0.05f));
  Buffer<bf16> norm(random.Bf16(depth, 0.5f, 1.0f));
  Buffer<i32> ids(most);
  Buffer<bf16> x(most * depth), h(most * depth), y(most * depth), flagged_y(most * depth);
  Buffer<char> memory(FlagState::kHeaderBytes + 2 * (most * depth * 4 + 256));
  memory.Fill(0);
  FlaggedChain<false, depth, tile_rows, single> plain{};
  ChainWithFlags<depth, tile_rows, single> flagged{};
  flagged.memory = memory.data();
  plain.copy.x = plain.first.x = plain.second.residual = x.data();
  plain.first.y = plain.second.x = h.data();
  auto fill = [&](auto& program, bf16* y_data) {
    program.copy.table = table.data();
    program.copy.ids = ids.data();
    program.first.w = w0.data();
    program.first.norm = norm.data();
    program.second.w = w1.data();
    program.second.y = y_data;
  };
  fill(plain, y.data());
  fill(flagged, flagged_y.data());
  Launcher<FlaggedChain<false, depth, tile_rows, single>> plain_launcher;
  Launcher<ChainWithFlags<depth, tile_rows, single>> flagged_launcher;
  int wrong = 0;
  for (int i = 0; i < launches; ++i) {
    std::vector<i32> rows(most);
    for (i32& row : rows) {
      row = i32(random.Bits() % table_rows);
    }
    ids.Write(rows);
    plain.first.x_0 = plain.second.x_0 = flagged.first.x_0 = flagged.second.x_0 =
        1 + random.Bits() % most;
    y.Fill(0xff);
    flagged_y.Fill(0xff);
    plain_launcher.Launch(plain);
    flagged_launcher.Launch(flagged);
    wrong += SameBits(y.Read(), flagged_y.Read()) ? 0 : 1;
  }
  report.Check(wrong == 0, "flagged chain of depth " + std::to_string(depth) + ", rows " +
                               std::to_string(tile_rows) + ": " + std::to_string(wrong) + " of " +
                               std::to_string(launches) + " launches differ");
}

/// Records of splits, written to a flagged buffer by one CTA and joined by others.
struct FlaggedCombine {
  static constexpr int kHeads = 3, kDim = 64, kSplits = 40, kRecord = kDim + 2;
  static constexpr int kWords = kHeads * kSplits * kRecord;
  struct Args {
    Flagged<float> partial;
    static constexpr long long partial_1 = kHeads, partial_3 = kRecord;
    long long partial_2;
    bf16* out;
    static constexpr long long out_1 = kHeads * kDim;
  };
  static constexpr int kSlotBytes = 0, kScratchBytes = 0;

  const float* records;
  char* memory;
  Args combine;

  ETC_DEVICE FlagState OpenFlags() const { return FlagState(memory); }
  ETC_DEVICE i64 FlaggedBytes() const { return kWords * 8; }
  ETC_DEVICE void UseSet(u32 set) {
    combine.partial = Flagged<float>(memory + FlagState::kHeaderBytes, set);
  }
  ETC_DEVICE void Load(Loader&) const {}
  ETC_DEVICE void Consume(Consumer& consumer, const Events&) const {
    if (HasTask(1, 0)) {
      for (int i = consumer.thread; i < kWords; i += Consumer::kThreads) {
        StoreElement(combine.partial, i, records[i]);
      }
    }
    if (HasTask(kHeads, 1)) {
      AttentionCombine<void, Args> op(consumer, combine);
      Share(kHeads, 1, [&](int h) { op.Run(consumer, combine, 0, h); });
    }
  }
};

/// More splits than are joined at once; those before `first` are empty, as of a short sequence.
inline void TestFlaggedCombine(Report& report) {
  constexpr int heads = FlaggedCombine::kHeads, dim = FlaggedCombine::kDim;
  constexpr int splits = FlaggedCombine::kSplits, record = FlaggedCombine::kRecord;
  Buffer<char> memory(FlagState::kHeaderBytes + FlaggedCombine::kWords * 8 + 256);
  memory.Fill(0);
  Buffer<float> device_records(FlaggedCombine::kWords);
  Buffer<bf16> out(heads * dim);
  Launcher<FlaggedCombine> launcher;
  for (int first : {0, 1, 20, splits - 1}) {
    Random random(first + 5);
    std::vector<float> records(FlaggedCombine::kWords);
    std::vector<double> expected(heads * dim);
    for (int h = 0; h < heads; ++h) {
      double weight = 0;
      for (int s = 0; s < splits; ++s) {
        float* part = records.data() + (h * splits + s) * record;
        part[dim] = s < first ? -INFINITY : random.Value(5.0f);
        part[dim + 1] = s < first ? 0 : 1.5f + random.Value(1.0f);
        double factor = s < first ? 0 : std::exp(double(part[dim]));
        weight += factor * part[dim + 1];
        for (int d = 0; d < dim; ++d) {
          part[d] = s < first ? 0 : random.Value(2.0f);
          expected[h * dim + d] += factor * part[d];
        }
      }
      for (int d = 0; d < dim; ++d) {
        expected[h * dim + d] /= weight;
      }
    }
    device_records.Write(records);
    out.Fill(0xff);
    FlaggedCombine program{device_records.data(), memory.data(), {}};
    program.combine.partial_2 = splits, program.combine.out = out.data();
    launcher.Launch(program);
    report.CheckClose(out.Read(), expected, expected.size(), 1.0 / 200, 1e-4,
                      "flagged combine from split " + std::to_string(first));
  }
}

inline void TestFlagged(Report& report) {
  TestFlaggedCombine(report);
  TestFlaggedChain<1024, 8>(report);
  TestFlaggedChain<2048, 16>(report);
  // Warps that have fewer words than others, or none; lines with the end of a row and a start.
  TestFlaggedChain<576, 8>(report);
  TestFlaggedChain<1056, 16>(report);
  TestFlaggedChain<6496, 16>(report);  // more than registers hold
  TestFlaggedChain<896, 24, true>(report);
  TestFlaggedChain<1024, 8, true>(report);
  TestFlaggedChain<2048, 24, true>(report);
  TestFlaggedChain<6144, 48, true>(report);
}

/// In a size of a large model.
inline void TestLargeFlagged(Report& report) { TestFlaggedChain<6144, 16>(report); }

}  // namespace etc::test
