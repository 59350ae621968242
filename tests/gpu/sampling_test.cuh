// LargestScores, WeighTokens and DrawTokens behind each other, against a sampler that sorts.
#pragma once

#include <numeric>

#include "support.cuh"
#include "tile/sampling/draw_tokens.cuh"
#include "tile/sampling/largest_scores.cuh"
#include "tile/sampling/weigh_tokens.cuh"

namespace etc::test {

struct DrawSettings {
  float temperature = 1;
  i32 top_k = 0;
  float top_p = 1, min_p = 0, penalty = 1;
};

template <int vocabulary, int chunk_size>
struct SamplingProgram {
  static constexpr int kVocabulary = vocabulary, kChunk = chunk_size, kRing = 4, kBins = 164;
  static constexpr int kChunks = (vocabulary + chunk_size - 1) / chunk_size;
  struct Config {
    static constexpr i64 chunk = kChunk;
  };
  struct Args {
    const float* logits;
    static constexpr long long logits_1 = kVocabulary;
    const i32* slot;
    long long slot_0;
    const float *temperature, *top_p, *min_p, *repetition_penalty;
    const i32* top_k;
    const i64* seed;
    const u32* seen;
    static constexpr long long seen_1 = (kVocabulary + 31) / 32;
    const i32* pos;
    float* largest;
    i32* first;
    static constexpr long long largest_1 = kChunks, first_1 = kChunks;
    i32* distance;
    static constexpr long long distance_1 = kVocabulary;
    i32* count;
    i64* mass;
    static constexpr long long count_1 = kChunks, count_2 = kBins;
    i32 *token, *next_ids, *next_pos, *ring;
    static constexpr long long ring_1 = kRing;
  };
  using Largest = LargestScores<Config, Args>;
  using Weigh = WeighTokens<Config, Args>;
  using Draw = DrawTokens<Config, Args>;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = std::max(Draw::kScratchBytes, Weigh::kScratchBytes);
  static_assert(Largest::kScratchBytes <= kScratchBytes, "scratch for all");

  Args args;
  int batch;

  ETC_DEVICE void Load(Loader&) const {}
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    Largest largest(consumer, args);
    Share(batch * kChunks, 0, [&](int task) {
      largest.Run(consumer, args, task / kChunks, task % kChunks);
      events.Notify(consumer, task / kChunks, 1);
    });
    Weigh weigh(consumer, args);
    Share(batch * kChunks, 0, [&](int task) {
      events.Wait(consumer, task / kChunks, kChunks);
      weigh.Run(consumer, args, task / kChunks, task % kChunks);
      events.Notify(consumer, batch + task / kChunks, 1);
    });
    Draw draw(consumer, args);
    Share(batch, 0, [&](int b) {
      events.Wait(consumer, batch + b, kChunks);
      draw.Run(consumer, args, b);
    });
  }
};

/// Philox 4x32-10 of the seed and the position, 62 bits of it.
inline uint64_t DrawBits(uint64_t seed, uint32_t position) {
  uint32_t x[4] = {position, 0, 0, 0}, key[2] = {uint32_t(seed), uint32_t(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * x[0], b = uint64_t(0xCD9E8D57) * x[2];
    uint32_t next[4] = {uint32_t(b >> 32) ^ x[1] ^ key[0], uint32_t(b),
                        uint32_t(a >> 32) ^ x[3] ^ key[1], uint32_t(a)};
    std::memcpy(x, next, sizeof(x));
    key[0] += 0x9E3779B9, key[1] += 0xBB67AE85;
  }
  return uint64_t(x[0] >> 1) << 31 | x[1] >> 1;
}

/// The weight by the formula of docs/sampling.md, term by term.
inline uint64_t DrawWeight(int64_t distance) {
  const int64_t terms[7] = {2147483648, 1488522224, 515881603, 119183688,
                            20609476,   2773769,    246789};
  int64_t fraction = distance % (1 << 25), value = terms[6];
  for (int i = 5; i >= 0; --i) {
    value = terms[i] - (value * fraction >> 25);
  }
  return uint64_t(value) << 9 >> distance / (1 << 25);
}

/// By sorting.
inline i32 ExpectedToken(const float* logits, int n, const std::vector<bool>& seen,
                         const DrawSettings& settings, uint64_t seed, uint32_t position) {
  const float most = 3.4028235e38f;
  std::vector<float> score(n);
  for (int v = 0; v < n; ++v) {
    auto finite = [&](float x) { return x > -INFINITY ? std::min(x, most) : -INFINITY; };
    float x = finite(logits[v]);
    if (seen[v] && settings.penalty != 1) {
      x = finite(x > 0 ? x / settings.penalty : x * settings.penalty);
    }
    score[v] = x;
  }
  i32 best = i32(std::max_element(score.begin(), score.end()) - score.begin());
  if (!(settings.temperature >= 1e-5f)) {
    return best;
  }
  const int64_t far = int64_t(41) << 25;
  std::vector<int64_t> distance(n);
  for (int v = 0; v < n; ++v) {
    float apart = score[best] - score[v];
    float steps = apart * (48408812.0f / settings.temperature);
    distance[v] = steps < float(far) ? int64_t(steps) : far;
  }
  std::vector<i32> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](i32 a, i32 b) { return distance[a] < distance[b]; });
  auto end_of = [&](int count) {  // with the equals of the last one
    while (count < n && distance[order[count]] == distance[order[count - 1]]) {
      ++count;
    }
    return count;
  };
  auto weight_of = [&](int count) {
    uint64_t sum = 0;
    for (int i = 0; i < count; ++i) {
      sum += DrawWeight(distance[order[i]]);
    }
    return sum;
  };
  int kept = n;
  if (settings.top_k > 0 && settings.top_k < n) {
    kept = end_of(settings.top_k);
  }
  if (settings.top_p < 1) {
    unsigned __int128 share = uint64_t(std::max(settings.top_p, 0.0f) * 2147483648.0f);
    uint64_t need = std::max<uint64_t>(uint64_t((share * weight_of(kept) + 0x7fffffff) >> 31), 1);
    uint64_t sum = 0;
    for (int i = 0; i < kept; ++i) {
      sum += DrawWeight(distance[order[i]]);
      if (sum >= need) {
        kept = end_of(i + 1);
        break;
      }
    }
  }
  if (settings.min_p > 0) {
    uint64_t least = uint64_t(std::ceil(std::min(settings.min_p, 1.0f) * 1099511627776.0f));
    while (kept > 0 && DrawWeight(distance[order[kept - 1]]) < least) {
      --kept;
    }
  }
  unsigned __int128 bits = DrawBits(seed, position);
  uint64_t draw = uint64_t((bits * weight_of(kept)) >> 62);
  for (int i = 0; i < kept; ++i) {
    uint64_t weight = DrawWeight(distance[order[i]]);
    if (draw < weight) {
      return order[i];
    }
    draw -= weight;
  }
  return best;
}

/// Rows of every kind: peaked, flat, of few values, all equal, and with what is no number.
inline std::vector<float> DrawLogits(Random& random, int batch, int n) {
  std::vector<float> logits(size_t(batch) * n);
  for (int b = 0; b < batch; ++b) {
    for (int v = 0; v < n; ++v) {
      float sum = 0;
      for (int i = 0; i < 6; ++i) {
        sum += random.Value(1.0f);
      }
      float& logit = logits[size_t(b) * n + v];
      logit = sum * (b % 3 == 0 ? 0.3f : b % 3 == 1 ? 1.5f : 6.0f);
      if (b % 5 == 3) {
        logit = std::round(logit);
      }
      if (b % 7 == 4) {
        logit = 0.5f;
      }
      if (b % 7 == 5 && random.Bits() % 4 == 0) {
        logit = random.Bits() % 2 ? -INFINITY : std::nanf("");
      }
      if (b % 11 == 9 && random.Bits() % 64 == 0) {
        logit = INFINITY;
      }
    }
  }
  return logits;
}

template <int vocabulary, int chunk>
void TestSamplingOf(Report& report, int batch) {
  using Program = SamplingProgram<vocabulary, chunk>;
  constexpr int n = vocabulary, words = int(Program::Args::seen_1);
  const std::vector<DrawSettings> kinds = {{0},
                                           {1},
                                           {0.7f, 20},
                                           {1, 0, 0.9f},
                                           {1, 0, 1, 0.05f},
                                           {1, 0, 1, 0, 1.3f},
                                           {0, 0, 1, 0, 2},
                                           {1.5f, 50, 0.95f, 0.01f, 1.1f},
                                           {1, 1},
                                           {1, 0, 0},
                                           {1, 0, 1, 1},
                                           {100},
                                           {0.01f, 0, 0.5f},
                                           {1, n / 2},
                                           {1, n / 2, 0.8f, 1e-4f},
                                           {3, 0, 0.99f},
                                           {50, 0, 1, 0.98f}};
  Random random{uint64_t(n)};
  std::vector<float> logits = DrawLogits(random, batch, n);
  std::vector<float> temperature(batch), top_p(batch), min_p(batch), penalty(batch);
  std::vector<i32> top_k(batch), slot(batch), pos(batch), expected(batch), next_pos(batch);
  std::vector<i32> ring(size_t(batch) * Program::kRing, -1);
  std::vector<i64> seed(batch);
  std::vector<u32> seen(size_t(batch) * words);
  for (u32& word : seen) {
    word = random.Bits();
  }
  for (int b = 0; b < batch; ++b) {
    int s = slot[b] = batch - 1 - b;
    const DrawSettings& kind = kinds[b % kinds.size()];
    temperature[s] = kind.temperature, top_k[s] = kind.top_k, top_p[s] = kind.top_p;
    min_p[s] = kind.min_p, penalty[s] = kind.penalty;
    seed[s] = i64(u64(random.Bits()) << 32 | random.Bits());
    pos[b] = int(random.Bits() % 100000);
    next_pos[b] = pos[b] + 1;
    std::vector<bool> marks(n);
    for (int v = 0; v < n; ++v) {
      marks[v] = (seen[size_t(s) * words + v / 32] >> v % 32 & 1) != 0;
    }
    expected[b] =
        ExpectedToken(&logits[size_t(b) * n], n, marks, kind, u64(seed[s]), uint32_t(next_pos[b]));
    ring[size_t(s) * Program::kRing + next_pos[b] % Program::kRing] = expected[b];
  }
  Buffer<float> d_logits(logits), d_temperature(temperature), d_top_p(top_p), d_min_p(min_p),
      d_penalty(penalty), largest(size_t(batch) * Program::kChunks);
  Buffer<i32> d_slot(slot), d_pos(pos), d_top_k(top_k), first(size_t(batch) * Program::kChunks),
      distance(logits.size()), count(size_t(batch) * Program::kChunks * Program::kBins),
      token(batch), d_next_ids(batch), d_next_pos(batch), d_ring(ring.size());
  Buffer<i64> d_seed(seed), mass(size_t(batch) * Program::kChunks * Program::kBins);
  Buffer<u32> d_seen(seen);
  Program program{};
  program.batch = batch;
  auto& args = program.args;
  args.logits = d_logits.data(), args.slot = d_slot.data(), args.slot_0 = batch;
  args.temperature = d_temperature.data(), args.top_p = d_top_p.data(), args.min_p = d_min_p.data();
  args.repetition_penalty = d_penalty.data(), args.top_k = d_top_k.data();
  args.seed = d_seed.data(), args.seen = d_seen.data(), args.pos = d_pos.data();
  args.largest = largest.data(), args.first = first.data(), args.distance = distance.data();
  args.count = count.data(), args.mass = mass.data(), args.token = token.data();
  args.next_ids = d_next_ids.data(), args.next_pos = d_next_pos.data(), args.ring = d_ring.data();
  Launcher<Program> launcher;
  int different = 0;
  for (int launch = 0; launch < kLaunches; ++launch) {
    largest.Fill(0xff), first.Fill(0xff), distance.Fill(0xff), count.Fill(0xff), mass.Fill(0xff);
    token.Fill(0xff), d_next_ids.Fill(0xff), d_next_pos.Fill(0xff), d_ring.Fill(0xff);
    launcher.Launch(program);
    different += !SameBits(token.Read(), expected) || !SameBits(d_next_ids.Read(), expected) ||
                 !SameBits(d_next_pos.Read(), next_pos) || !SameBits(d_ring.Read(), ring);
  }
  report.Check(different == 0, "sampling of " + std::to_string(n) +
                                   " tokens: " + std::to_string(different) + " launches wrong");
}

/// Rows of whole pieces of 16 bytes and others; chunks that are the whole row, and of a few tokens.
inline void TestSampling(Report& report) {
  TestSamplingOf<1, 128>(report, 5);
  TestSamplingOf<17, 128>(report, 20);
  TestSamplingOf<1003, 128>(report, 40);
  TestSamplingOf<8192, 8192>(report, 34);
  TestSamplingOf<kEmulated ? 20000 : 151936, 3584>(report, kEmulated ? 17 : 34);
}

}  // namespace etc::test
