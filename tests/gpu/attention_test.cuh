// SplitKvAttention and AttentionCombine, or ButLastSplitAttention and FusedSplitAttention, with an
// event for each KV head between them, against a softmax in double; and RotaryAppend, which must
// leave the same cache.
#pragma once

#include <numeric>

#include "attention_programs.cuh"

namespace etc::test {

/// The head at `source` after norm and rotation.
template <int dim>
std::vector<double> ReferenceHead(const bf16* source, const bf16* norm, double norm_offset,
                                  int position, const std::vector<float>& inv_freq) {
  std::vector<double> head(dim), rotated(dim);
  double squares = 0;
  for (int d = 0; d < dim; ++d) {
    head[d] = HostFloat(source[d]);
    squares += head[d] * head[d];
  }
  if (norm != nullptr) {
    for (int d = 0; d < dim; ++d) {
      head[d] *= (HostFloat(norm[d]) + norm_offset) / std::sqrt(squares / dim + 1e-6);
    }
  }
  for (int d = 0; d < dim / 2; ++d) {
    float angle = float(position) * inv_freq[d];
    double sine = std::sin(double(angle)), cosine = std::cos(double(angle));
    rotated[d] = head[d] * cosine - head[d + dim / 2] * sine;
    rotated[d + dim / 2] = head[d + dim / 2] * cosine + head[d] * sine;
  }
  return rotated;
}

/// `count` of the pages, in no order.
inline std::vector<i32> ShuffledPages(Random& random, int num_pages, int count) {
  std::vector<i32> pages(num_pages);
  std::iota(pages.begin(), pages.end(), 0);
  for (int i = num_pages; i > 1; --i) {
    std::swap(pages[i - 1], pages[random.Bits() % i]);
  }
  pages.resize(count);
  return pages;
}

template <class Case>
void TestAttention(Report& report,
                   const std::vector<i32>& positions = {0, 1, 3, 17, 63, 64, 65, 511, 512, 3999}) {
  constexpr int dim = Case::kDim, heads = Case::kHeads, kv_heads = Case::kKvHeads;
  constexpr int row = Case::kRow;
  const int batch = int(positions.size());
  Random random(dim * 100 + heads);
  auto qkv = random.Bf16(size_t(batch) * row, 2.0f);
  auto q_norm = random.Bf16(dim, 0.5f, 1.0f), k_norm = random.Bf16(dim, 0.5f, 1.0f);
  const int num_pages = batch * kMaxPages + 3;
  auto page_table = ShuffledPages(random, num_pages, batch * kMaxPages);
  size_t cache_size = size_t(num_pages) * kv_heads * kPageSize * dim;
  auto keys = random.Bf16(cache_size, 1.5f), values = random.Bf16(cache_size, 1.0f);
  std::vector<float> inv_freq(dim / 2);
  for (int d = 0; d < dim / 2; ++d) {
    inv_freq[d] = float(std::pow(1e4, -2.0 * d / dim));
  }
  auto cache_row = [&](int b, int h, int p) {
    size_t page = page_table[size_t(b) * kMaxPages + p / kPageSize];
    return ((page * kv_heads + h) * kPageSize + p % kPageSize) * dim;
  };
  auto first_of = [&](int b) {
    return Case::kWindow == 0 ? 0 : std::max(0, positions[b] + 1 - Case::kWindow);
  };
  // Nothing but what stands before the new positions, in the window, may be read.
  std::vector<bool> filled(cache_size);
  for (int b = 0; b < batch; ++b) {
    for (int h = 0; h < kv_heads; ++h) {
      for (int p = first_of(b); p < positions[b]; ++p) {
        std::fill_n(filled.begin() + cache_row(b, h, p), dim, true);
      }
    }
  }
  for (size_t i = 0; i < cache_size; ++i) {
    keys[i] = filled[i] ? keys[i] : bf16{0xffff};
    values[i] = filled[i] ? values[i] : bf16{0xffff};
  }

  std::vector<double> expected(size_t(batch) * heads * dim), rotated_q(expected.size());
  auto new_keys = keys, new_values = values;
  for (int b = 0; b < batch; ++b) {
    const bf16* source = qkv.data() + size_t(b) * row;
    for (int h = 0; h < kv_heads; ++h) {
      auto key =
          ReferenceHead<dim>(source + (heads + h) * dim, Case::kNorm ? k_norm.data() : nullptr,
                             Case::kNormOffset, positions[b], inv_freq);
      for (int d = 0; d < dim; ++d) {
        new_keys[cache_row(b, h, positions[b]) + d] = HostBf16(float(key[d]));
        new_values[cache_row(b, h, positions[b]) + d] = source[(heads + kv_heads + h) * dim + d];
      }
    }
  }
  ParallelFor(batch * heads, [&](int i) {
    int b = i / heads, h = i % heads, kv = h / Case::kGroup;
    auto query = ReferenceHead<dim>(qkv.data() + size_t(b) * row + h * dim,
                                    Case::kNorm ? q_norm.data() : nullptr, Case::kNormOffset,
                                    positions[b], inv_freq);
    std::copy(query.begin(), query.end(), rotated_q.begin() + size_t(i) * dim);
    for (double& element : query) {
      element = Rounded(element);
    }
    std::vector<double> scores(positions[b] + 1);
    double top = -1e300, total = 0;
    for (int p = first_of(b); p <= positions[b]; ++p) {
      double dot = 0;
      for (int d = 0; d < dim; ++d) {
        dot += query[d] * HostFloat(new_keys[cache_row(b, kv, p) + d]);
      }
      scores[p] = dot * Case::Scale();
      top = std::max(top, scores[p]);
    }
    for (int p = first_of(b); p <= positions[b]; ++p) {
      double weight = std::exp(scores[p] - top);
      total += weight;
      for (int d = 0; d < dim; ++d) {
        expected[size_t(i) * dim + d] += weight * HostFloat(new_values[cache_row(b, kv, p) + d]);
      }
    }
    for (int d = 0; d < dim; ++d) {
      expected[size_t(i) * dim + d] /= total;
    }
  });

  Buffer<bf16> device_qkv(qkv), device_q_norm(q_norm), device_k_norm(k_norm), out(expected.size()),
      q(expected.size()), k_cache(cache_size), v_cache(cache_size);
  Buffer<i32> device_pos(positions), device_pages(page_table);
  Buffer<float> device_freq(inv_freq), partial(size_t(batch) * heads * 16 * (dim + 2));
  AttentionProgram<Case> program{};
  auto& args = program.args;
  program.batch = batch, program.cap = 3;
  args.qkv = device_qkv.data(), args.pos = device_pos.data(), args.inv_freq = device_freq.data();
  args.q_norm = device_q_norm.data(), args.k_norm = device_k_norm.data();
  args.k_cache = k_cache.data(), args.v_cache = v_cache.data();
  args.page_table = device_pages.data(), args.page_table_1 = kMaxPages;
  args.partial = partial.data(), args.out = out.data(), args.q = q.data();
  std::string name = "attention group " + std::to_string(Case::kGroup) + " dim " +
                     std::to_string(dim) + (Case::kNorm ? " norm" : "") +
                     (Case::kWindow > 0 ? " window " + std::to_string(Case::kWindow) : "");
  // The position's own key may be rounded the other way when it lies close to the middle, and is
  // the less exact the more its two products cancel.
  auto check_cache = [&](const std::string& what) {
    auto actual = k_cache.Read();
    size_t wrong = 0;
    for (size_t i = 0; i < cache_size; ++i) {
      bool same = actual[i].bits == new_keys[i].bits;
      bool is_new = keys[i].bits == 0xffff && new_keys[i].bits != 0xffff;
      bool near = std::abs(int(actual[i].bits) - int(new_keys[i].bits)) <= 1 ||
                  std::fabs(HostFloat(actual[i]) - HostFloat(new_keys[i])) <= 1e-5f;
      wrong += !same && !(is_new && near);
    }
    report.Check(wrong == 0, what + ": " + std::to_string(wrong) + " wrong keys in the cache");
    report.Check(SameBits(v_cache.Read(), new_values), what + ": wrong values in the cache");
  };

  // The result, the caches, and that all launches give the same bits.
  auto check = [&](auto& launcher, const auto& program, const std::string& what) {
    std::vector<bf16> first;
    int different = 0;
    k_cache.Write(keys);
    v_cache.Write(values);
    for (int launch = 0; launch < kLaunches; ++launch) {
      out.Fill(0xff);
      partial.Fill(0xff);
      launcher.Launch(program);
      auto result = out.Read();
      if (launch == 0) {
        first = result;
        report.CheckClose(result, expected, expected.size(), 1.0 / 200, 3e-3, what);
        check_cache(what);
      }
      different += !SameBits(result, first);
    }
    report.Check(different == 0, what + ": " + std::to_string(different) + " launches differ");
  };
  Launcher<AttentionProgram<Case>> launcher;
  for (int splits : {1, 2, 16}) {
    args.partial_2 = splits;
    check(launcher, program, name + " splits " + std::to_string(splits));
  }
  Launcher<JoinedProgram<Case>> joined;
  for (int splits : {2, 5}) {
    args.partial_2 = splits - 1;
    check(joined, JoinedProgram<Case>{args, batch, 3}, name + " joined " + std::to_string(splits));
  }
  Launcher<WholeProgram<Case>> whole;
  check(whole, WholeProgram<Case>{args, batch, 3}, name + " whole");

  k_cache.Write(keys);
  v_cache.Write(values);
  Launcher<RotaryProgram<Case>> rotary;
  rotary.Launch({args, batch});
  report.CheckClose(q.Read(), rotated_q, rotated_q.size(), 1.0 / 200, 1e-4, name + " rotary q");
  check_cache(name + " rotary");
}

inline void TestAttentions(Report& report) {
  TestAttention<AttentionCase<1, 64, false>>(report);
  TestAttention<AttentionCase<1, 128, true>>(report);
  TestAttention<AttentionCase<2, 128, true>>(report);
  TestAttention<AttentionCase<2, 64, false>>(report);
  TestAttention<AttentionCase<3, 64, false>>(report);
  TestAttention<AttentionCase<4, 64, false>>(report);
  TestAttention<AttentionCase<4, 128, true>>(report);
  TestAttention<AttentionCase<5, 128, true>>(report);
  TestAttention<AttentionCase<6, 128, false>>(report);
  TestAttention<AttentionCase<7, 64, false>>(report);
  TestAttention<AttentionCase<7, 128, false>>(report);
  TestAttention<AttentionCase<8, 64, false>>(report);
  TestAttention<AttentionCase<8, 128, true>>(report);
}

/// Other sizes of a head and of a group, and one KV head.
inline void TestAttentionSizes(Report& report) {
  const std::vector<i32> positions = {0, 1, 33, 64, 127, 700};
  TestAttention<AttentionCase<3, 80, false, 1>>(report, positions);
  TestAttention<AttentionCase<16, 80, true, 1>>(report, positions);
  TestAttention<AttentionCase<6, 96, true>>(report, positions);
  TestAttention<AttentionCase<1, 96, false, 3>>(report, positions);
  TestAttention<AttentionCase<4, 256, true, 1>>(report, positions);
  TestAttention<AttentionCase<2, 256, true, 4>>(report, positions);
  TestAttention<AttentionCase<7, 256, false>>(report, positions);
  TestAttention<AttentionCase<16, 256, true, 1>>(report, positions);
  TestAttention<AttentionCase<7, 128, false>>(report, positions);
  TestAttention<AttentionCase<9, 128, true, 1>>(report, positions);
  TestAttention<AttentionCase<12, 64, true, 1>>(report, positions);
  TestAttention<AttentionCase<16, 64, false>>(report, positions);
}

/// Heads that are short for a page, and ones between those of whole loads.
inline void TestOddHeads(Report& report) {
  const std::vector<i32> positions = {0, 1, 33, 64, 127, 700};
  TestAttention<AttentionCase<4, 16, false>>(report, positions);
  TestAttention<AttentionCase<9, 32, true, 1>>(report, positions);
  TestAttention<AttentionCase<1, 48, false, 3>>(report, positions);
  TestAttention<AttentionCase<4, 112, true>>(report, positions);
  TestAttention<AttentionCase<2, 144, false>>(report, positions);
  TestAttention<AttentionCase<4, 160, true, 1>>(report, positions);
  TestAttention<AttentionCase<12, 192, false, 1>>(report, positions);
  TestAttention<AttentionCase<3, 240, true, 1, 100>>(report, positions);
}

/// Windows on both sides of which sequences end, and which begin within a page.
inline void TestAttentionWindows(Report& report) {
  const std::vector<i32> positions = {0, 1, 62, 63, 64, 99, 100, 128, 1000, 2200, 3999};
  TestAttention<AttentionCase<4, 64, false, 2, 100>>(report, positions);
  TestAttention<AttentionCase<5, 128, true, 1, 64>>(report, positions);
  TestAttention<AttentionCase<4, 128, false, 2, 2100>>(report, positions);
  TestAttention<AttentionCase<3, 80, true, 1, 1>>(report, positions);
  TestAttention<AttentionCase<4, 256, true, 1, 512>>(report, positions);
  TestAttention<AttentionCase<16, 96, false, 1, 77>>(report, positions);
}

}  // namespace etc::test
