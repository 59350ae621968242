// Ranks of all_reduce.etir that launch by themselves, as fast as each of them can, behind the text
// that `etc compile --stop-after emit` writes for the host. Every launch has other inputs, so that
// a value of another launch is a wrong one. Built with the thread sanitizer, and once without the
// handshake (ETC_NO_HANDSHAKE).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kTile = 64;
constexpr int64_t kBegunBytes = 64 * 64;

struct Sizes {
  int64_t n;
  int64_t ranks;
  int sms;
  int launches;
  int64_t Tiles() const { return (n + kTile - 1) / kTile; }
#ifdef ETC_TEST_QUEUE  // its trigger, tickets of two cases, head, tail and places
  int64_t Counters() const { return 2 * Tiles() + 4 + (Tiles() + 31) / 32; }
#else
  int64_t Counters() const { return Tiles(); }
#endif
  int64_t EventBytes() const { return 128 + 2 * Counters() * 128; }
};

/// What element i of a rank is in a launch: sums of these are exact.
float Value(int64_t rank, int launch, int64_t i) {
  return static_cast<float>((rank + 1) * 64 + launch * 7 % 61 + i % 5);
}

struct Rank {
  std::unique_ptr<char[]> memory;
  std::vector<int64_t> distances;
  std::vector<float> x, y;
  int wrong = 0;
};

void Run(const Sizes& sizes, int64_t rank, Rank& mine) {
  char* events = mine.memory.get() + kBegunBytes;
  for (int launch = 1; launch <= sizes.launches; ++launch) {
    for (int64_t i = 0; i < sizes.n; ++i) {
      mine.x[i] = Value(rank, launch, i);
    }
    std::memset(events, 0, sizes.EventBytes());
    const auto word = [](const auto* data) { return reinterpret_cast<uint64_t>(data); };
    const uint64_t block[] = {word(mine.x.data()),
                              word(mine.y.data()),
                              static_cast<uint64_t>(sizes.ranks),
                              static_cast<uint64_t>(sizes.n),
                              0,  // no workspace
                              word(events),
                              static_cast<uint64_t>(sizes.Counters()),
                              word(events + sizes.EventBytes()),
                              word(mine.memory.get()),
                              word(mine.distances.data()),
                              static_cast<uint64_t>(rank),
                              static_cast<uint64_t>(sizes.ranks),
                              static_cast<uint64_t>(launch)};
    std::vector<std::thread> sms;
    for (int sm = 1; sm < sizes.sms; ++sm) {
      sms.emplace_back([&block, &sizes, sm] { ENTRY(block, sm, sizes.sms); });
    }
    ENTRY(block, 0, sizes.sms);
    for (std::thread& sm : sms) {
      sm.join();
    }
    for (int64_t i = 0; i < sizes.n; ++i) {
      float sum = 0;
      for (int64_t r = 0; r < sizes.ranks; ++r) {
        sum += Value(r, launch, i);
      }
      mine.wrong += mine.y[i] == sum ? 0 : 1;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: ranks N RANKS SMS LAUNCHES\n");
    return 2;
  }
  const Sizes sizes{std::atoll(argv[1]), std::atoll(argv[2]), std::atoi(argv[3]),
                    std::atoi(argv[4])};
  const int64_t bytes = kBegunBytes + sizes.EventBytes() + sizes.ranks * sizes.n * 4;
  std::vector<Rank> ranks(sizes.ranks);
  for (Rank& rank : ranks) {
    rank.memory = std::make_unique<char[]>(bytes);
    rank.x.resize(sizes.n);
    rank.y.resize(sizes.n);
  }
  for (Rank& rank : ranks) {
    for (const Rank& peer : ranks) {
      rank.distances.push_back(peer.memory.get() - rank.memory.get());
    }
  }
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < sizes.ranks; ++rank) {
    threads.emplace_back([&sizes, &ranks, rank] { Run(sizes, rank, ranks[rank]); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  int wrong = 0;
  for (const Rank& rank : ranks) {
    wrong += rank.wrong;
  }
  std::printf("%d launches of %lld ranks: %d wrong elements\n", sizes.launches,
              static_cast<long long>(sizes.ranks), wrong);
  return wrong == 0 ? 0 : 1;
}
