// Threads that run one launch after the other.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cfenv>
#include <cstdint>
#include <deque>

#include "runtime/binary.h"
#include "runtime/spin.h"
#include "runtime/status.h"

namespace etc::runtime {

class ThreadTeam {
 public:
  ThreadTeam();
  /// Between launches only.
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int Workers() const { return static_cast<int>(workers_.size()); }
  /// Starts threads until there are `workers`. When one cannot be started, all of them end.
  Status Grow(int workers);
  /// Calls `entry(block, sm, sms)` on the caller for sm 0 and on a worker for each other one, under
  /// the caller's floating-point environment.
  void Run(HostBinary::Entry entry, const uint64_t* block, int sms);

 private:
  struct Worker {
    ThreadTeam* team;
    int sm;
    uint64_t seen;  // the order that stood when the thread was started
    pthread_t thread;
  };

  static void* Main(void* worker);
  void Work(int sm, uint64_t seen);
  uint64_t NextOrder(uint64_t seen, Spin* spin);
  void Give(uint32_t sms);
  void WaitForWorkers();
  void End();
  bool MaySpin(uint32_t sms) const { return sms <= cores_; }

  const uint32_t cores_;
  std::deque<Worker> workers_;  // their addresses stay

  // A launch, written before its order is given.
  HostBinary::Entry entry_ = nullptr;
  const uint64_t* block_ = nullptr;
  std::fenv_t environment_{};

  /// The number of a launch and, in the high half, how many SMs it has: one word, so that a worker
  /// that it has no SM for reads nothing else, and may be late.
  alignas(64) std::atomic<uint64_t> order_{0};
  std::atomic<uint32_t> sleepers_{0};
  Spin caller_spin_;
  alignas(64) std::atomic<uint32_t> running_{0};  // workers of the launch that have not returned
  std::atomic<uint32_t> caller_sleeps_{0};
};

}  // namespace etc::runtime
