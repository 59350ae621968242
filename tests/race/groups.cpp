// Groups of the runtime library, with an artifact of all_reduce.etir: ranks that are launched by
// themselves, and what a group refuses.
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "etc/runtime.hpp"

namespace {

int failures = 0;

void Check(bool holds, const char* what) {
  if (!holds) {
    std::printf("FAILED: %s\n", what);
    ++failures;
  }
}

/// That the call fails with this status, and says this.
template <class Call>
void CheckFails(etc_status status, const std::string& text, Call call) {
  try {
    call();
    std::printf("FAILED: no error, expected: %s\n", text.c_str());
    ++failures;
  } catch (const etc::Error& error) {
    if (error.status() != status || text != error.what()) {
      std::printf("FAILED: %s: %s\n  expected: %s\n", etc_status_name(error.status()), error.what(),
                  text.c_str());
      ++failures;
    }
  }
}

struct Rank {
  std::vector<float> x, y;
  etc::Instance instance;
};

std::vector<Rank> RanksOf(const etc::Group& group, int64_t ranks, int64_t n) {
  std::vector<Rank> all;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    all.push_back({std::vector<float>(n), std::vector<float>(n), group.Rank(rank)});
    all.back().instance.SetSms(2);
    all.back().instance.Bind("x", all.back().x.data(), ETC_F32, {1, n});
    all.back().instance.Bind("y", all.back().y.data(), ETC_F32, {n});
  }
  return all;
}

/// Each rank on a thread of its own, as fast as it can: peers may be one launch apart.
void LaunchApart(const etc::Program& program, int64_t ranks, int64_t n, int launches) {
  etc::Group group(program, static_cast<int32_t>(ranks));
  std::vector<Rank> all = RanksOf(group, ranks, n);
  group.Reserve();
  std::vector<std::thread> threads;
  std::vector<int> wrong(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Rank& mine = all[rank];
      for (int launch = 0; launch < launches; ++launch) {
        const auto value = [&](int64_t r, int64_t i) {
          return static_cast<float>(r * 100 + launch % 97 + i % 7);
        };
        for (int64_t i = 0; i < n; ++i) {
          mine.x[i] = value(rank, i);
        }
        mine.instance.Launch();
        for (int64_t i = 0; i < n; ++i) {
          float sum = 0;
          for (int64_t r = 0; r < ranks; ++r) {
            sum += value(r, i);
          }
          wrong[rank] += mine.y[i] == sum ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Check(wrong[rank] == 0, "a sum of a rank that launches by itself");
  }
}

void RefuseOthers(const etc::Program& program) {
  CheckFails(ETC_ERROR_ARGUMENT, "graph `all_reduce` runs on several ranks: make a group of them",
             [&] { etc::Instance alone(program); });
  CheckFails(ETC_ERROR_DIM, "graph `all_reduce` is not for 3 ranks, only for: 1, 2, 4, 8",
             [&] { etc::Group group(program, 3); });
  etc::Group group(program, 2);
  CheckFails(ETC_ERROR_NOT_FOUND, "there is no rank 2: there are 2, counted from 0",
             [&] { (void)group.Rank(2); });
  std::vector<Rank> all = RanksOf(group, 2, 64);
  CheckFails(
      ETC_ERROR_BIND,
      "rank 0 needs symmetric memory of 1 counters and 512 bytes, for which the group has no "
      "room: reserve the group with these sizes",
      [&] { all[0].instance.Launch(); });
  etc::Group half(program, 2);
  half.Rank(0).SetDim("n", 4);
  half.Rank(1).SetDim("n", 4);
  CheckFails(ETC_ERROR_UNBOUND, "rank 0: parameter `x` has no tensor", [&] { half.Launch(); });
  std::vector<float> longer(65);
  all[1].instance.Bind("x", longer.data(), ETC_F32, {1, 65});
  all[1].instance.Bind("y", longer.data(), ETC_F32, {65});
  CheckFails(ETC_ERROR_DIM, "rank 1: dim `n` is 65, but 64 on rank 0", [&] { group.Launch(); });
  all[1].instance.SetDim("tp", 1);
  CheckFails(ETC_ERROR_DIM, "rank 1: dim `tp` is 1, but the group has 2 ranks",
             [&] { group.Launch(); });
}

/// The memory grows with the sizes, for all ranks together.
void Grow(const etc::Program& program) {
  etc::Group group(program, 2);
  for (int64_t n : {3, 1000, 64}) {
    std::vector<Rank> all = RanksOf(group, 2, n);
    for (Rank& rank : all) {
      rank.x.assign(n, 2.0f);
    }
    group.Launch();
    group.Launch();
    Check(all[0].y[n - 1] == 4.0f && all[1].y[0] == 4.0f, "a sum after the memory has grown");
  }
}

/// That the call ends with this status, and says this somewhere.
template <class Call>
void CheckSays(etc_status status, const std::string& text, Call call) {
  try {
    call();
    std::printf("FAILED: no error, expected: %s\n", text.c_str());
    ++failures;
  } catch (const etc::Error& error) {
    if (error.status() != status || std::string(error.what()).find(text) == std::string::npos) {
      std::printf("FAILED: %s: %s\n  expected: %s\n", etc_status_name(error.status()), error.what(),
                  text.c_str());
      ++failures;
    }
  }
}

// Behind a wait that was given up, tasks go on in no order, and what they make is of no use.
#ifdef __SANITIZE_THREAD__
constexpr bool kThreadsAreChecked = true;
#else
constexpr bool kThreadsAreChecked = false;
#endif

/// Of a program with a watchdog: a rank that launches alone gives up, and the group goes on.
void GiveUp(const etc::Program& program) {
  etc::Group group(program, 2);
  std::vector<Rank> all = RanksOf(group, 2, 300);
  for (Rank& rank : all) {
    rank.x.assign(300, 2.0f);
  }
  for (int round = 0; round < 2; ++round) {
    group.Launch();
    CheckSays(ETC_ERROR_TIMEOUT,
              "waits for rank 1, which has not begun launch 2, and nothing has happened for 1 s",
              [&] { all[0].instance.Launch(); });
    CheckFails(ETC_ERROR_GROUP,
               "rank 1 cannot go on by itself behind a launch that failed: reserve the group",
               [&] { all[1].instance.Launch(); });
    all[0].y.assign(300, 0.0f);
    group.Launch();
    Check(all[0].y[299] == 4.0f && all[1].y[0] == 4.0f, "a sum behind a launch that failed");
    CheckSays(ETC_ERROR_TIMEOUT, "waits for rank 0, which has not begun launch 2",
              [&] { all[1].instance.Launch(); });
    group.Reserve();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: groups ARTIFACT WATCHED_ARTIFACT\n");
    return 2;
  }
  const etc::Program program(argv[1]);
  RefuseOthers(program);
  Grow(program);
  if (!kThreadsAreChecked) {
    GiveUp(etc::Program(argv[2]));
  }
  for (int64_t ranks : {1, 2, 4, 8}) {
    for (int64_t n : {1, 65, 300}) {
      LaunchApart(program, ranks, n, 200);
    }
  }
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
