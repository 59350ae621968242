#include "runtime/thread_team.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <thread>

namespace etc::runtime {
namespace {

constexpr uint32_t kEnd = UINT32_MAX;  // an order to end instead of a number of SMs

uint32_t SmsOf(uint64_t order) { return static_cast<uint32_t>(order >> 32); }
uint32_t NumberOf(uint64_t order) { return static_cast<uint32_t>(order); }

/// The kernel compares and sleeps by words of 32 bits: of an order, by its number.
static_assert(std::endian::native == std::endian::little);
template <class Word>
uint32_t* FutexOf(std::atomic<Word>& word) {
  static_assert(sizeof word == sizeof(Word));
  return reinterpret_cast<uint32_t*>(&word);
}

/// Sleeps unless the word has changed; may wake without a reason.
template <class Word>
void SleepWhile(std::atomic<Word>& word, uint32_t value) {
  syscall(SYS_futex, FutexOf(word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
template <class Word>
void Wake(std::atomic<Word>& word, int threads) {
  syscall(SYS_futex, FutexOf(word), FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

/// Leaves the process's signals to threads of its own, but for those of a fault, which come where
/// it happens.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
      sigdelset(&blocked, fault);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

ThreadTeam::ThreadTeam() : cores_(std::max(std::thread::hardware_concurrency(), 1U)) {}

ThreadTeam::~ThreadTeam() { End(); }

void ThreadTeam::End() {
  if (workers_.empty()) {
    return;
  }
  Give(kEnd);
  for (const Worker& worker : workers_) {
    pthread_join(worker.thread, nullptr);
  }
  workers_.clear();
}

Status ThreadTeam::Grow(int workers) {
  const BlockedSignals inherited;
  while (Workers() < workers) {
    Worker& worker = workers_.emplace_back(
        Worker{this, Workers() + 1, order_.load(std::memory_order_relaxed), pthread_t{}});
    if (pthread_create(&worker.thread, nullptr, &Main, &worker) != 0) {
      workers_.pop_back();
      const int started = Workers();
      End();
      return Fail(ETC_ERROR_OUT_OF_MEMORY, "cannot start ", workers + 1, " threads, only ",
                  started + 1);
    }
  }
  return {};
}

void ThreadTeam::Run(HostBinary::Entry entry, const uint64_t* block, int sms) {
  entry_ = entry;
  block_ = block;
  std::fegetenv(&environment_);
  running_.store(static_cast<uint32_t>(sms - 1), std::memory_order_relaxed);
  Give(static_cast<uint32_t>(sms));
  entry(block, 0, sms);
  WaitForWorkers();
}

void ThreadTeam::Give(uint32_t sms) {
  const uint32_t number = NumberOf(order_.load(std::memory_order_relaxed)) + 1;
  // Either a worker sees the order before it sleeps, or it is seen here: all agree on one sequence
  // of these two stores and two loads.
  order_.store(uint64_t{sms} << 32 | number);
  if (sleepers_.load() != 0) {
    Wake(order_, INT_MAX);
  }
}

void ThreadTeam::WaitForWorkers() {
  const auto done = [&] { return running_.load(std::memory_order_acquire) == 0; };
  if (MaySpin(SmsOf(order_.load(std::memory_order_relaxed))) && caller_spin_.Until(done)) {
    return;
  }
  caller_sleeps_.store(1);
  while (const uint32_t running = running_.load()) {
    SleepWhile(running_, running);
  }
  caller_sleeps_.store(0, std::memory_order_relaxed);
}

uint64_t ThreadTeam::NextOrder(uint64_t seen, Spin* spin) {
  uint64_t order = seen;
  const auto is_new = [&] { return (order = order_.load(std::memory_order_acquire)) != seen; };
  if (MaySpin(SmsOf(seen)) && spin->Until(is_new)) {
    return order;
  }
  sleepers_.fetch_add(1);
  while ((order = order_.load()) == seen) {
    SleepWhile(order_, NumberOf(seen));
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return order;
}

void ThreadTeam::Work(int sm, uint64_t seen) {
  Spin spin;
  for (;;) {
    seen = NextOrder(seen, &spin);
    const uint32_t sms = SmsOf(seen);
    if (sms == kEnd) {
      return;
    }
    if (static_cast<uint32_t>(sm) < sms) {
      std::fesetenv(&environment_);
      entry_(block_, sm, static_cast<int>(sms));
      if (running_.fetch_sub(1) == 1 && caller_sleeps_.load() != 0) {
        Wake(running_, 1);
      }
    }
  }
}

void* ThreadTeam::Main(void* worker) {
  const auto& self = *static_cast<const Worker*>(worker);
  pthread_setname_np(pthread_self(), "etc-sm");
  self.team->Work(self.sm, self.seen);
  return nullptr;
}

}  // namespace etc::runtime
