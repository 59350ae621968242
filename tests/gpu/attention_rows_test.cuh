// TurnRows, AttentionOfRows and AttentionCombine, with an event for all rows and one for all parts
// between them, against a softmax in double.
#pragma once

#include "attention_test.cuh"
#include "tile/attention/attention_of_rows.cuh"
#include "tile/attention/turn_rows.cuh"

namespace etc::test {

/// With window 0 all positions attend, and there are no other scalar parameters either.
template <int group, int dim, bool norm, int tile_rows, int kv_heads = 2, int window = 0,
          int slot = 16384>
struct RowsCase : AttentionCase<group, dim, norm, kv_heads, window> {
  using Base = AttentionCase<group, dim, norm, kv_heads, window>;
  static constexpr int kTileRows = tile_rows;
  struct Config : Base::Config {
    static constexpr int rows = tile_rows, query_heads = Base::kHeads, slot_bytes = slot;
  };
  struct Args : Base::Args {
    const i32* row_start;
    long long pos_0;
    static constexpr long long inv_freq_0 = dim / 2;
    bf16* turned;
    static constexpr long long turned_1 = Base::kRow;
  };
};

template <class Case>
struct RowsProgram {
  using Turn = TurnRows<typename Case::Config, typename Case::Args>;
  using Attention = AttentionOfRows<typename Case::Config, typename Case::Args>;
  using Combine = AttentionCombine<typename Case::Config, typename Case::Args>;
  static constexpr int kSlotBytes = Attention::kSlotBytes;
  static constexpr int kScratchBytes = Attention::kScratchBytes;

  typename Case::Args args;
  int rows, tiles;  // of all sequences; of each

  ETC_DEVICE int Tasks() const {
    return tiles * int(args.pos_0) * Case::kKvHeads * int(args.partial_2);
  }
  /// Calls `body` with the coordinates of each task of this SM.
  template <class Body>
  ETC_DEVICE void ForTasks(const Body& body) const {
    Share(Tasks(), rows, [&](int task) {
      int parts = int(args.partial_2), sequences = int(args.pos_0);
      int p = task % parts, h = task / parts % Case::kKvHeads;
      int rest = task / parts / Case::kKvHeads;
      body(rest / sequences, rest % sequences, h, p);
    });
  }

  ETC_DEVICE void Load(Loader& loader) const {
    loader.in_flight_limit = 3;
    ForTasks([&](int t, int s, int h, int p) { Attention::Load(loader, args, t, s, h, p); });
  }
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    Turn turn(consumer, args);
    Share(rows, 0, [&](int row) {
      turn.Run(consumer, args, row);
      events.Notify(consumer, 0, 1);
    });
    Attention attention(consumer, args);
    ForTasks([&](int t, int s, int h, int p) {
      events.Wait(consumer, 0, rows);
      attention.Run(consumer, args, t, s, h, p);
      events.Notify(consumer, 1, 1);
    });
    Combine combine(consumer, args);
    Share(rows * Case::kHeads, rows + Tasks(), [&](int task) {
      events.Wait(consumer, 1, Tasks());
      combine.Run(consumer, args, task / Case::kHeads, task % Case::kHeads);
    });
  }
};

/// Sequences with so many positions before the step, and so many new ones.
template <class Case>
void TestRowsOf(Report& report, const std::vector<i32>& contexts, const std::vector<int>& counts) {
  constexpr int dim = Case::kDim, heads = Case::kHeads, kv_heads = Case::kKvHeads;
  constexpr int row_size = Case::kRow;
  const int sequences = int(contexts.size());
  std::vector<i32> row_start(sequences + 1);
  std::partial_sum(counts.begin(), counts.end(), row_start.begin() + 1);
  const int rows = row_start.back();
  Random random(dim * 100 + heads);
  auto qkv = random.Bf16(size_t(rows) * row_size, 2.0f);
  auto q_norm = random.Bf16(dim, 0.5f, 1.0f), k_norm = random.Bf16(dim, 0.5f, 1.0f);
  const int num_pages = sequences * kMaxPages + 3;
  auto page_table = ShuffledPages(random, num_pages, sequences * kMaxPages);
  size_t cache_size = size_t(num_pages) * kv_heads * kPageSize * dim;
  // Nothing but what stands before the new positions, in the window of some row, may be read.
  std::vector<bf16> keys(cache_size, bf16{0xffff}), values = keys;
  auto cache_row = [&](int s, int h, int p) {
    size_t page = page_table[size_t(s) * kMaxPages + p / kPageSize];
    return ((page * kv_heads + h) * kPageSize + p % kPageSize) * dim;
  };
  auto first_of = [&](int p) {
    return Case::kWindow == 0 ? 0 : std::max(0, p + 1 - Case::kWindow);
  };
  for (int s = 0; s < sequences; ++s) {
    for (int h = 0; h < kv_heads; ++h) {
      for (int p = first_of(contexts[s]); p < contexts[s]; ++p) {
        auto key = random.Bf16(dim, 1.5f), value = random.Bf16(dim, 1.0f);
        std::copy(key.begin(), key.end(), keys.begin() + cache_row(s, h, p));
        std::copy(value.begin(), value.end(), values.begin() + cache_row(s, h, p));
      }
    }
  }
  std::vector<float> inv_freq(dim / 2);
  for (int d = 0; d < dim / 2; ++d) {
    inv_freq[d] = float(std::pow(1e4, -2.0 * d / dim));
  }

  std::vector<int> owner(rows);
  auto new_keys = keys, new_values = values;
  for (int s = 0; s < sequences; ++s) {
    for (int row = row_start[s]; row < row_start[s + 1]; ++row) {
      owner[row] = s;
      const bf16* source = qkv.data() + size_t(row) * row_size;
      int position = contexts[s] + row - row_start[s];
      for (int h = 0; h < kv_heads; ++h) {
        auto key =
            ReferenceHead<dim>(source + (heads + h) * dim, Case::kNorm ? k_norm.data() : nullptr,
                               Case::kNormOffset, position, inv_freq);
        for (int d = 0; d < dim; ++d) {
          new_keys[cache_row(s, h, position) + d] = HostBf16(float(key[d]));
          new_values[cache_row(s, h, position) + d] = source[(heads + kv_heads + h) * dim + d];
        }
      }
    }
  }
  std::vector<double> expected(size_t(rows) * heads * dim);
  ParallelFor(rows * heads, [&](int i) {
    int row = i / heads, h = i % heads, kv = h / Case::kGroup, s = owner[row];
    int position = contexts[s] + row - row_start[s];
    auto query = ReferenceHead<dim>(qkv.data() + size_t(row) * row_size + h * dim,
                                    Case::kNorm ? q_norm.data() : nullptr, Case::kNormOffset,
                                    position, inv_freq);
    std::vector<double> scores(position + 1);
    double top = -1e300, total = 0;
    for (int p = first_of(position); p <= position; ++p) {
      double dot = 0;
      for (int d = 0; d < dim; ++d) {
        dot += Rounded(query[d]) * HostFloat(new_keys[cache_row(s, kv, p) + d]);
      }
      scores[p] = dot * Case::Scale();
      top = std::max(top, scores[p]);
    }
    for (int p = first_of(position); p <= position; ++p) {
      double weight = std::exp(scores[p] - top);
      total += weight;
      for (int d = 0; d < dim; ++d) {
        expected[size_t(i) * dim + d] += weight * HostFloat(new_values[cache_row(s, kv, p) + d]);
      }
    }
    for (int d = 0; d < dim; ++d) {
      expected[size_t(i) * dim + d] /= total;
    }
  });

  Buffer<bf16> device_qkv(qkv), device_q_norm(q_norm), device_k_norm(k_norm), out(expected.size()),
      turned(qkv.size()), k_cache(cache_size), v_cache(cache_size);
  Buffer<i32> device_pos(contexts), device_pages(page_table), device_rows(row_start);
  constexpr int most_parts = 3;
  Buffer<float> device_freq(inv_freq), partial(size_t(rows) * heads * most_parts * (dim + 2));
  RowsProgram<Case> program{};
  auto& args = program.args;
  program.rows = rows;
  program.tiles = DivideUp(rows - sequences + 1, Case::kTileRows);
  args.qkv = device_qkv.data(), args.pos = device_pos.data(), args.pos_0 = sequences;
  args.row_start = device_rows.data(), args.turned = turned.data();
  args.inv_freq = device_freq.data();
  args.q_norm = device_q_norm.data(), args.k_norm = device_k_norm.data();
  args.k_cache = k_cache.data(), args.v_cache = v_cache.data();
  args.page_table = device_pages.data(), args.page_table_1 = kMaxPages;
  args.partial = partial.data(), args.out = out.data();
  Launcher<RowsProgram<Case>> launcher;
  for (int parts : {1, most_parts}) {
    args.partial_2 = parts;
    std::string name = "rows " + std::to_string(rows) + " of " + std::to_string(sequences) +
                       " group " + std::to_string(Case::kGroup) + " dim " + std::to_string(dim) +
                       (Case::kWindow > 0 ? " window " + std::to_string(Case::kWindow) : "") +
                       " parts " + std::to_string(parts);
    std::vector<bf16> first;
    int different = 0;
    k_cache.Write(keys);
    v_cache.Write(values);
    for (int launch = 0; launch < kLaunches; ++launch) {
      out.Fill(0xff), partial.Fill(0xff), turned.Fill(0xff);
      launcher.Launch(program);
      auto result = out.Read();
      if (launch == 0) {
        first = result;
        report.CheckClose(result, expected, expected.size(), 1.0 / 200, 4e-3, name);
        auto actual = k_cache.Read();
        size_t wrong = 0;
        for (size_t i = 0; i < cache_size; ++i) {  // a key may be rounded the other way
          bool is_new = keys[i].bits == 0xffff && new_keys[i].bits != 0xffff;
          bool near = std::abs(int(actual[i].bits) - int(new_keys[i].bits)) <= 1 ||
                      std::fabs(HostFloat(actual[i]) - HostFloat(new_keys[i])) <= 1e-5f;
          wrong += actual[i].bits != new_keys[i].bits && !(is_new && near);
        }
        report.Check(wrong == 0, name + ": " + std::to_string(wrong) + " wrong keys in the cache");
        report.Check(SameBits(v_cache.Read(), new_values), name + ": wrong values in the cache");
      }
      different += !SameBits(result, first);
    }
    report.Check(different == 0, name + ": " + std::to_string(different) + " launches differ");
  }
}

/// Ragged sequences, one prompt, and one row of each sequence; tiles that no sequence has.
inline void TestRows(Report& report) {
  const std::vector<i32> contexts = {65, 0, 1, 63, 64};
  const std::vector<int> ragged = {17, 1, 3, 2, 16};
  TestRowsOf<RowsCase<2, 64, false, 32>>(report, contexts, ragged);
  TestRowsOf<RowsCase<4, 128, true, 32>>(report, contexts, ragged);
  TestRowsOf<RowsCase<4, 128, true, 8>>(report, {130, 200}, {4, 4});
  TestRowsOf<RowsCase<4, 128, true, 32, 1, 0, 32768>>(report, {300}, {128});
  TestRowsOf<RowsCase<3, 80, false, 32, 1>>(report, contexts, ragged);
  TestRowsOf<RowsCase<7, 128, false, 18, 1>>(report, contexts, ragged);
  TestRowsOf<RowsCase<16, 64, false, 8, 1>>(report, contexts, ragged);
  TestRowsOf<RowsCase<4, 256, true, 16, 1>>(report, contexts, ragged);
  TestRowsOf<RowsCase<1, 96, true, 32>>(report, {0, 5, 700}, {1, 1, 1});
  TestRowsOf<RowsCase<4, 32, true, 32>>(report, contexts, ragged);
  TestRowsOf<RowsCase<2, 144, false, 32, 1>>(report, contexts, ragged);
  TestRowsOf<RowsCase<4, 192, true, 16, 1>>(report, contexts, ragged);
}

/// Windows that begin in the cache, on both sides of a page's end, and among the new rows.
inline void TestRowsWindows(Report& report) {
  const std::vector<i32> contexts = {65, 0, 200, 63};
  const std::vector<int> counts = {17, 33, 3, 16};
  TestRowsOf<RowsCase<4, 64, false, 32, 1, 100>>(report, contexts, counts);
  TestRowsOf<RowsCase<2, 128, true, 32, 1, 9>>(report, contexts, counts);
  TestRowsOf<RowsCase<4, 256, true, 16, 1, 20>>(report, contexts, counts);
}

}  // namespace etc::test
