// Where the programs of a benchmark run: its memory, and launches that are timed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "etc/runtime.hpp"

namespace etc {

/// An instance that is ready: all is bound and reserved. It must not outlive its place.
class TimedLauncher {
 public:
  virtual ~TimedLauncher() = default;

  /// One launch, after all that was enqueued before it.
  virtual void Launch() = 0;
  /// The same, timed.
  virtual void LaunchTimed() = 0;
  /// Milliseconds of each timed launch so far. Waits for them.
  virtual std::vector<double> Times() = 0;
};

/// Copies and launches come one after another, and may be under way when the call returns.
class BenchPlace {
 public:
  virtual ~BenchPlace() = default;

  virtual std::string Name() const = 0;
  /// The memory of it in bytes; 0 where nobody knows.
  virtual int64_t MemoryBytes() const = 0;
  virtual int32_t Sms() const = 0;

  /// Lives as long as the place. Aligned to 256 bytes.
  virtual void* Allocate(int64_t bytes) = 0;
  virtual void Fill(void* data, uint8_t value, int64_t bytes) = 0;
  virtual void Copy(void* to, const void* from, int64_t bytes) = 0;
  /// From and to this program's memory; done when they return.
  virtual void Upload(void* to, const void* host, int64_t bytes) = 0;
  virtual void Fetch(void* host, const void* from, int64_t bytes) = 0;

  /// Until all that was enqueued is done.
  virtual void Wait() = 0;

  virtual std::unique_ptr<TimedLauncher> Prepare(Instance& instance) = 0;
};

/// This machine's threads.
[[nodiscard]] std::unique_ptr<BenchPlace> MakeHostPlace();

/// The GPU of the runtime library's current context. Each launch is a CUDA graph on one stream,
/// timed between two points of the stream. Failures of the device come out as etc::Error.
[[nodiscard]] std::unique_ptr<BenchPlace> MakeGpuPlace();

}  // namespace etc
