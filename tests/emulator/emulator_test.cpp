// The emulated device itself: what it runs, and what it finds.
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "arch/sm90/barrier.cuh"
#include "arch/sm90/copy.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/launch.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/mma.cuh"
#include "arch/sm90/wgmma.cuh"
#include "machine.h"

namespace etc {
namespace {

using emulator::Machine;

/// What launches on 20 orders of the threads come to: nothing, or the first message.
std::string LaunchOften(int blocks, int threads, const std::function<void()>& kernel) {
  constexpr int shared_bytes = 16384;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Machine machine(seed);
    std::string message = machine.Launch(blocks, threads, shared_bytes, kernel);
    if (!message.empty()) {
      return message;
    }
  }
  return {};
}

bool Has(const std::string& text, const char* part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("lanes of a warp exchange words") {
  std::vector<int> sums(64, -1);
  CHECK(LaunchOften(1, 64, [&] {
          int sum = int(threadIdx.x);
          for (int lanes = 16; lanes > 0; lanes /= 2) {
            sum += __shfl_xor_sync(0xffffffffU, sum, lanes);
          }
          sums[threadIdx.x] = sum;
        }).empty());
  CHECK(sums[3] == 31 * 32 / 2);
  CHECK(sums[40] == 32 * 32 + 31 * 32 / 2);
}

TEST_CASE("lanes that meet in different places are found") {
  const std::string message = LaunchOften(1, 32, [] {
    if (threadIdx.x < 5) {
      __syncwarp();
    } else {
      __all_sync(0xffffffffU, true);
    }
  });
  CHECK(Has(message, "where other lanes are at"));
}

TEST_CASE("an mbarrier completes a phase when all have arrived and all bytes are there") {
  alignas(16) static const float source[64] = {0, 1, 2, 3};
  std::vector<float> seen(2, -1);
  CHECK(LaunchOften(1, 64, [&] {
          char* shared = LaunchSharedMemory();
          const u32 barrier = SharedAddress(shared);
          if (threadIdx.x == 0) {
            BarrierInit(barrier, 1);
          }
          __syncthreads();
          for (u32 round = 0; round < 2; ++round) {
            if (threadIdx.x < 32) {
              if (threadIdx.x == 0) {
                BarrierArriveExpect(barrier, 16);
              }
              __syncwarp();
              BulkCopyElected(barrier + 128, source + 4 * round, 16, barrier, 0);
            }
            BarrierWait(barrier, round & 1);
            if (threadIdx.x == 32 + round) {
              float value[1];
              LoadShared(barrier + 128 + 4, value);
              seen[round] = value[0];
            }
            __syncthreads();
          }
        }).empty());
  CHECK(seen == std::vector<float>{1, 0});
}

TEST_CASE("one arrival too many is found") {
  CHECK(Has(LaunchOften(1, 32,
                        [] {
                          const u32 barrier = SharedAddress(LaunchSharedMemory());
                          if (threadIdx.x == 0) {
                            BarrierInit(barrier, 2);
                            BarrierArriveExpect(barrier, 16);
                            BarrierArrive(barrier);
                            BarrierArrive(barrier);
                          }
                        }),
            "all 2 arrivals of phase 0 are there"));
}

TEST_CASE("a deadlock says who waits for what") {
  const std::string message = LaunchOften(1, 64, [] {
    const u32 barrier = SharedAddress(LaunchSharedMemory());
    if (threadIdx.x == 0) {
      BarrierInit(barrier, 2);
    }
    __syncthreads();
    BarrierArriveWarp(barrier, int(threadIdx.x % 32));
    if (threadIdx.x < 32) {
      BarrierWait(barrier, 0);
      BarrierWait(barrier, 1);
    }
  });
  CHECK(Has(message,
            "block 0 warp 0 lanes ffffffff wait for BarrierWait at 1024, parity 1: in "
            "phase 1, 2 of 2 arrivals and 0 bytes missing"));
  CHECK_FALSE(Has(message, "warp 1"));
}

TEST_CASE("a wait for a word that nobody writes is a deadlock, one that comes late is none") {
  u32 counter = 0;
  const auto wait = [&](u32 count) {
    counter = 0;
    return LaunchOften(4, 32, [&counter, count] {
      if (threadIdx.x == 0) {
        AddRelease(&counter, 1);
        while (LoadAcquire(&counter) % 4 != count) {
        }
      }
    });
  };
  CHECK(wait(0).empty());
  CHECK(Has(wait(5), "lanes 00000001 wait for LoadAcquire"));
  u32 word = 0;
  CHECK(Has(LaunchOften(1, 32,
                        [&] {
                          u32 mine = 0;
                          while (FetchMissing(mine, &word)) {
                          }
                        }),
            "a flagged word"));
}

/// A copy of a warp, with or without its wait.
std::string CopyRun(bool waits, std::vector<u32>& seen) {
  alignas(16) static const u32 source[4] = {1, 2, 3, 4};
  return LaunchOften(1, 32, [&seen, waits] {
    const u32 to = SharedAddress(LaunchSharedMemory()) + threadIdx.x * 16;
    CopyPiece(to, source, threadIdx.x != 7);
    CopyCommit();
    if (waits) {
      CopyWait<0>();
    }
    __syncwarp();
    seen[threadIdx.x] = LoadSharedWord(to + 4);
  });
}

TEST_CASE("a copy lands at its wait and not before") {
  std::vector<u32> seen(32);
  CHECK(CopyRun(true, seen).empty());
  CHECK(seen[0] == 2);
  CHECK(seen[7] == 0);
  CHECK(CopyRun(false, seen).empty());
  CHECK(seen[0] == 0xffffffff);
}

TEST_CASE("accesses that are not aligned, or outside, are found") {
  const auto load = [](u32 offset) {
    return LaunchOften(1, 32,
                       [offset] { LoadShared(SharedAddress(LaunchSharedMemory()) + offset); });
  };
  CHECK(load(16384 - 16).empty());
  CHECK(Has(load(4), "LoadShared of 16 bytes at 1028, which is not aligned"));
  CHECK(Has(load(16384), "outside of shared memory"));
}

TEST_CASE("a warp multiplies") {
  std::vector<float> sums(128);
  CHECK(LaunchOften(1, 32, [&] {
          // a is 1 in row 2, column 3; b is 5 in row 3, column 1, 7 in row 3, column 2.
          const int row = int(threadIdx.x / 4), pair = int(threadIdx.x % 4);
          const u32 a0 = row == 2 && pair == 1 ? PackBf16(0, 1) : 0;
          const u32 b0 = pair == 1 ? PackBf16(0, row == 1 ? 5.0f : row == 2 ? 7.0f : 0) : 0;
          float c[4] = {0.5f, 0, 0, 0};
          MmaBf16(c, a0, 0, 0, 0, b0, 0);
          std::copy(c, c + 4, sums.begin() + threadIdx.x * 4);
        }).empty());
  CHECK(sums[2 * 16 + 1] == 5);
  CHECK(sums[2 * 16 + 4] == 7.5f);
  CHECK(sums[0] == 0.5f);
}

/// Ones in a and in 16 columns of b, which each thread has written a part of.
std::string WarpgroupRun(bool fences, bool waits, std::vector<float>& seen) {
  return LaunchOften(1, 128, [=, &seen] {
    const u32 shared = SharedAddress(LaunchSharedMemory());
    const u32 ones = PackBf16(1, 1);
    StoreShared(shared + threadIdx.x * 16, Vec4{ones, ones, ones, ones});
    if (fences) {
      WgmmaSharedFence();
    }
    __syncthreads();
    float d[8] = {2};
    const u32 a[4] = {ones, ones, ones, ones};
    WgmmaFence();
    Wgmma<16>::Multiply(d, a, WgmmaDescriptor(shared + 32));
    WgmmaCommit();
    if (waits) {
      WgmmaWait<0>();
    }
    seen[threadIdx.x] = d[0];
    if (!waits) {
      WgmmaWait<0>();
    }
  });
}

TEST_CASE("a warpgroup multiplies; a forgotten wait or fence shows") {
  std::vector<float> seen(128);
  CHECK(WarpgroupRun(true, true, seen).empty());
  CHECK(seen == std::vector<float>(128, 18));
  CHECK(WarpgroupRun(true, false, seen).empty());
  CHECK(std::isnan(seen[5]));
  CHECK(Has(WarpgroupRun(false, true, seen), "without a WgmmaSharedFence"));
}

}  // namespace
}  // namespace etc
