#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include "runtime/gather_run.h"

namespace {

/// How many threads may still be started; negative: any number.
std::atomic<int> threads_left{-1};

}  // namespace

// In the place of libc's, so that a test can have it fail.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left >= 0 && threads_left-- <= 0) {
    threads_left = 0;
    return EAGAIN;
  }
  return create(thread, attributes, function, argument);
}

namespace etc::test {
namespace {

using nlohmann::json;

/// Threads of this process.
std::ptrdiff_t Threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator{});
}

/// The kernel may list a thread for a moment after it was joined.
bool ThreadsBecome(std::ptrdiff_t expected) {
  for (int i = 0; i < 1000 && Threads() != expected; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return Threads() == expected;
}

/// `gather` in a program of its own whose kernels are `text`.
struct Kernels {
  TempDir dir;
  std::unique_ptr<Program> program;

  explicit Kernels(const std::string& text, json manifest = GatherManifest())
      : program(std::make_unique<Program>(WriteArtifact(dir, std::move(manifest), Compile(text)))) {
  }
};

TEST_CASE("threads stay between launches and end with the last instance") {
  const auto before = Threads();
  {
    Gather gather;
    Instance other(gather.program);
    GatherTensors tensors(40, 8);
    tensors.Bind(gather.instance);
    tensors.Bind(other);
    gather.instance.SetSms(1);
    gather.instance.Launch();
    CHECK(Threads() == before);
    for (const int32_t sms : {4, 2, 4, 3}) {
      gather.instance.SetSms(sms);
      gather.instance.Launch();
      CHECK(tensors.IsRight());
      CHECK(Threads() == before + 3);
    }
    // Launches that follow one another share the threads.
    other.SetSms(5);
    other.Launch();
    CHECK(tensors.IsRight());
    CHECK(Threads() == before + 4);
  }
  CHECK(ThreadsBecome(before));
}

TEST_CASE("threads that cannot be had are a status, and nothing is left behind") {
  Gather gather;
  GatherTensors tensors(20, 8);
  tensors.Bind(gather.instance);
  gather.instance.SetSms(3);
  gather.instance.Launch();
  const auto before = Threads();
  threads_left = 4;
  gather.instance.SetSms(16);
  const Failure failure = FailureOf([&] { gather.instance.Launch(); });
  threads_left = -1;
  CHECK(failure.status == ETC_ERROR_OUT_OF_MEMORY);
  CHECK(failure.text == "cannot start 16 threads, only 7");
  CHECK(ThreadsBecome(before - 2));
  gather.instance.Launch();
  CHECK(tensors.IsRight());
}

TEST_CASE("of a group whose ranks cannot all have their threads none begins") {
  json manifest = GatherManifest();
  AddRanks(manifest, {2});
  // Word 14 of the block is the number of the launch.
  const Kernels kernels(R"(
#include <cstdint>
extern "C" void gather_small(const uint64_t* block, int sm, int) {
  if (sm == 0) *reinterpret_cast<int32_t*>(block[0]) = static_cast<int32_t>(block[14]);
}
extern "C" void gather_large(const uint64_t*, int, int) {}
)",
                        manifest);
  Group group(*kernels.program, 2);
  Instance ranks[] = {group.Rank(0), group.Rank(1)};
  GatherTensors tensors[] = {GatherTensors(4, 8), GatherTensors(4, 8)};
  for (size_t rank = 0; rank < 2; ++rank) {
    tensors[rank].Bind(ranks[rank]);
    ranks[rank].SetSms(rank == 0 ? 1 : 8);
    tensors[rank].ids[0] = 0;
  }
  const auto before = Threads();
  const auto launch_with = [&](int threads, const auto& launch) {
    threads_left = threads;
    const Failure failure = FailureOf(launch);
    threads_left = -1;
    CHECK(failure.status == ETC_ERROR_OUT_OF_MEMORY);
    return failure.text;
  };
  const auto numbers = [&] { return std::pair(tensors[0].ids[0], tensors[1].ids[0]); };
  CHECK(launch_with(4, [&] { group.Launch(); }) == "rank 1: cannot start 8 threads, only 5");
  // Nor does a rank count such a launch of its own.
  CHECK(launch_with(3, [&] { ranks[1].Launch(); }) == "cannot start 8 threads, only 4");
  CHECK(ThreadsBecome(before));
  CHECK(launch_with(7, [&] { group.Launch(); }) == "cannot start a thread for each of 2 ranks");
  CHECK(numbers() == std::pair(0, 0));
  group.Launch();
  CHECK(numbers() == std::pair(1, 1));
}

TEST_CASE("a process that was forked from one with threads launches with its own") {
  Gather gather;
  GatherTensors tensors(20, 8);
  tensors.Bind(gather.instance);
  gather.instance.SetSms(4);
  gather.instance.Launch();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::fill(tensors.out.begin(), tensors.out.end(), -1.0F);
    etc_status status = ETC_OK;
    try {
      gather.instance.Launch();
    } catch (const Error& error) {
      status = error.status();
    }
    _exit(status == ETC_OK && tensors.IsRight() && Threads() == 4 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  std::fill(tensors.out.begin(), tensors.out.end(), -1.0F);
  gather.instance.Launch();
  CHECK(tensors.IsRight());
}

TEST_CASE("threads compute under the caller's floating-point environment") {
  Kernels kernels(R"(
#include <cstdint>
extern "C" void gather_small(const uint64_t* block, int sm, int) {
  volatile float three = 3.0F;
  reinterpret_cast<float*>(block[2])[sm] = 1.0F / three;
}
extern "C" void gather_large(const uint64_t*, int, int) {}
)");
  Instance instance(*kernels.program);
  instance.SetSms(4);
  GatherTensors tensors(4, 8);
  tensors.Bind(instance);
  float results[2] = {};
  for (const int mode : {FE_DOWNWARD, FE_UPWARD}) {
    const int before = std::fegetround();
    std::fesetround(mode);
    instance.Launch();
    std::fesetround(before);
    for (size_t sm = 0; sm < 4; ++sm) {
      CHECK(tensors.out[sm] == tensors.out[0]);
    }
    results[mode == FE_UPWARD] = tensors.out[0];
  }
  CHECK(results[0] < results[1]);
}

TEST_CASE("a call with an instance that another thread is using is a status") {
  // Says that it runs, and ends when it is told to.
  Kernels kernels(R"(
#include <atomic>
#include <cstdint>
extern "C" void gather_small(const uint64_t* block, int sm, int) {
  std::atomic_ref<int32_t> word(reinterpret_cast<int32_t*>(block[0])[sm]);
  word = 1;
  while (word != 2) {
  }
}
extern "C" void gather_large(const uint64_t*, int, int) {}
)");
  Instance instance(*kernels.program);
  instance.SetSms(1);
  GatherTensors tensors(4, 8);
  tensors.Bind(instance);
  tensors.ids[0] = 0;
  std::atomic_ref<int32_t> word(tensors.ids[0]);
  std::thread launch([&] { instance.Launch(); });
  while (word != 1) {
    std::this_thread::yield();
  }
  Failure failures[] = {FailureOf([&] { instance.Launch(); }),
                        FailureOf([&] { instance.SetDim("batch", 2); }),
                        FailureOf([&] { instance.Dim("batch"); }),
                        FailureOf([&] { tensors.Bind(instance); }),
                        FailureOf([&] { instance.Reserve(); }),
                        FailureOf([&] { instance.SetSms(2); }),
                        FailureOf([&] { instance.BindWorkspace(nullptr, 0); }),
                        FailureOf([&] { instance.Check(); })};
  word = 2;
  launch.join();
  for (const Failure& failure : failures) {
    CHECK(failure.status == ETC_ERROR_BUSY);
    CHECK(failure.text ==
          "another thread is inside of a call with this instance: make one instance for each "
          "thread");
  }
  tensors.ids[0] = 2;
  instance.SetDim("batch", 4);
  CHECK(instance.Dim("batch") == 4);
}

}  // namespace
}  // namespace etc::test
