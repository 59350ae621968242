// What the tests of tile kernels share: buffers, data, a minimal persistent kernel, comparisons.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "arch/common/types.cuh"
#include "engine/events.cuh"
#include "engine/roles.cuh"

namespace etc::test {

constexpr int kSharedBytes = 225280;
constexpr int kCapacity = 1024;       // event counters
constexpr int kLoaderInFlight = 3;    // slots on their way at once
constexpr int kLoaderInterval = 0;    // cycles
constexpr int kLoaderPrefetch = 200;  // cycles between two, while the ring is full

/// How often a test repeats a launch whose bits may not change. On the emulated device, each launch
/// interleaves the threads in another order, and takes longer.
#ifdef ETC_EMULATED
constexpr bool kEmulated = true;
#else
constexpr bool kEmulated = false;
#endif
constexpr int kLaunches = kEmulated ? 2 : 50;

inline void CheckCuda(cudaError_t error, const char* what, int line) {
  if (error != cudaSuccess) {
    std::printf("line %d: %s: %s\n", line, what, cudaGetErrorString(error));
    std::exit(5);
  }
}
#define CUDA_OK(call) ::etc::test::CheckCuda(call, #call, __LINE__)

inline float HostFloat(bf16 value) {
  uint32_t bits = uint32_t(value.bits) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}
inline float HostFloat(float value) { return value; }

inline bf16 HostBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bf16{uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
inline double Rounded(double value) { return HostFloat(HostBf16(float(value))); }

/// Uniform in [-scale, scale), the same on every run.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint32_t Bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return uint32_t(state_ >> 32);
  }
  float Value(float scale) { return (float(Bits() >> 8) / float(1 << 23) - 1.0f) * scale; }
  std::vector<bf16> Bf16(size_t count, float scale, float offset = 0) {
    std::vector<bf16> values(count);
    for (bf16& value : values) {
      value = HostBf16(Value(scale) + offset);
    }
    return values;
  }

 private:
  uint64_t state_;
};

/// Device memory, freed with its owner.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) {
    CUDA_OK(cudaMalloc(&data_, count * sizeof(T)));
    Fill(0xff);
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) { Write(values); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }

  T* data() const { return data_; }
  void Fill(int byte) { CUDA_OK(cudaMemset(data_, byte, count_ * sizeof(T))); }
  void Write(const std::vector<T>& values) {
    CUDA_OK(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    CUDA_OK(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

template <class T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

struct Report {
  int passed = 0, failed = 0;
  void Check(bool ok, const std::string& what) {
    ok ? ++passed : ++failed;
    if (!ok) {
      std::printf("FAILED %s\n", what.c_str());
    }
  }
  /// Each value within `relative` of the expected one plus `absolute`.
  template <class T>
  void CheckClose(const std::vector<T>& actual, const std::vector<double>& expected, size_t count,
                  double relative, double absolute, const std::string& what) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i) {
      double value = HostFloat(actual[i]);
      double limit = relative * std::fabs(expected[i]) + absolute;
      if (!(std::fabs(value - expected[i]) <= limit)) {
        if (wrong++ == 0) {
          std::printf("  [%zu] is %g, expected %g\n", i, value, expected[i]);
        }
      }
    }
    Check(wrong == 0,
          what + ": " + std::to_string(wrong) + " of " + std::to_string(count) + " values off");
  }
};

inline double RootMeanSquare(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) {
    sum += value * value;
  }
  return std::sqrt(sum / double(values.size()));
}

/// Calls body(i) for 0 <= i < count on all cores.
inline void ParallelFor(int count, const std::function<void(int)>& body) {
  int workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) {
    threads.emplace_back([=, &body] {
      for (int i = worker; i < count; i += workers) {
        body(i);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

/// The tasks of an op that are this CTA's: as the static schedule hands them out.
template <class Body>
ETC_DEVICE void Share(int tasks, int first, Body body) {
  int sms = int(gridDim.x);
#pragma unroll 1
  for (int task = (int(blockIdx.x) - first % sms + sms) % sms; task < tasks; task += sms) {
    body(task);
  }
}
/// Whether this CTA has a task of the share.
ETC_DEVICE bool HasTask(int tasks, int first) {
  int sms = int(gridDim.x);
  return (int(blockIdx.x) - first % sms + sms) % sms < tasks;
}

/// A program whose kernels reduce has kPartialsBytes and Reduce.
template <class Program, class = void>
struct ReductionIn {
  static constexpr int kPartialsBytes = 0;
  static ETC_DEVICE void Reduce(const Program&, EpilogueWarp&, const Events&) {}
};
template <class Program>
struct ReductionIn<Program, std::void_t<decltype(&Program::Reduce)>> {
  static constexpr int kPartialsBytes = Program::kPartialsBytes;
  static ETC_DEVICE void Reduce(const Program& program, EpilogueWarp& epilogue_warp,
                                const Events& events) {
    program.Reduce(epilogue_warp, events);
  }
};

/// A program with flagged buffers has OpenFlags, UseSet and FlaggedBytes.
template <class Program, class = void>
struct FlagsIn {
  static ETC_DEVICE NoFlags Open(const Program&) { return {}; }
  static ETC_DEVICE void Use(Program&, u32) {}
  static ETC_DEVICE i64 Bytes(const Program&) { return 0; }
};
template <class Program>
struct FlagsIn<Program, std::void_t<decltype(&Program::UseSet)>> {
  static ETC_DEVICE FlagState Open(const Program& program) { return program.OpenFlags(); }
  static ETC_DEVICE void Use(Program& program, u32 set) { program.UseSet(set); }
  static ETC_DEVICE i64 Bytes(const Program& program) { return program.FlaggedBytes(); }
};

/// A kernel as the emitter writes it. Program has kSlotBytes, kScratchBytes, and Load and Consume.
template <class Program>
__global__ void __launch_bounds__(Consumer::kThreads + 128, 1)
    Persistent(const __grid_constant__ Program given, u32* event_memory) {
  Events events(event_memory, kCapacity);
  const auto flags = FlagsIn<Program>::Open(given);
  Program program = given;
  FlagsIn<Program>::Use(program, flags.set);
  Block<Program::kSlotBytes, Program::kScratchBytes, ReductionIn<Program>::kPartialsBytes,
        kSharedBytes, HelperRegisters<Program>::value>
      block;
  if (block.IsHelper()) {
    if (block.IsLoader()) {
      Loader loader = block.MakeLoader();
      loader.SetThrottle(kLoaderInFlight, kLoaderInterval, Loader::kNoLimit, kLoaderPrefetch);
      program.Load(loader);
    } else if (block.IsEpilogueWarp()) {
      EpilogueWarp epilogue_warp = block.MakeEpilogueWarp();
      ReductionIn<Program>::Reduce(program, epilogue_warp, events);
    } else {
      flags.Clear(block.SpareThread(), block.kSpareThreads);
    }
  } else {
    Consumer consumer = block.MakeConsumer();
    program.Consume(consumer, events);
    events.Finish(consumer, flags, FlagsIn<Program>::Bytes(program));
  }
}

/// Launches on all SMs; its event memory goes from launch to launch by the epoch alone.
template <class Program>
class Launcher {
 public:
  using Given = Program;

  Launcher() : events_(32 + 2 * kCapacity * 32) {
    events_.Fill(0);
    CUDA_OK(cudaFuncSetAttribute(Persistent<Program>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 kSharedBytes));
    CUDA_OK(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, 0));
  }
  void Launch(const Program& program) {
    u32* events = events_.data();
    void* arguments[] = {const_cast<Program*>(&program), &events};
    CUDA_OK(cudaLaunchCooperativeKernel(Persistent<Program>, dim3(sms_),
                                        dim3(Consumer::kThreads + 128), arguments, kSharedBytes,
                                        nullptr));
  }
  int sms() const { return sms_; }

 private:
  Buffer<u32> events_;
  int sms_ = 0;
};

}  // namespace etc::test
