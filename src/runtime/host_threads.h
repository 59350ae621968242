// The threads of launches on the host. They belong to the process, sleep between launches, and end
// with the last backend that uses them.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/binary.h"
#include "runtime/status.h"

namespace etc::runtime {

class ThreadTeam;

/// Keeps the threads in the process.
class HostThreads {
 public:
  HostThreads();
  ~HostThreads();
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;

  /// Has the threads of the next launch on so many SMs, or of fewer, so that it runs for certain.
  /// One SM needs none. If a thread cannot be had, none is.
  Status Hold(int sms);
  /// Calls `entry(block, sm, sms)` for each sm below `sms`, the first on the caller's thread and
  /// the others on one thread each, all at once: they may wait for one another. Returns when all
  /// have returned. Launches of several callers run side by side. If a thread cannot be had, none
  /// runs.
  Status Run(HostBinary::Entry entry, const uint64_t* block, int sms);

 private:
  struct GiveBack {
    void operator()(ThreadTeam* team) const;
  };

  std::unique_ptr<ThreadTeam, GiveBack> held_;
};

}  // namespace etc::runtime
