// The memory of launches beside their tensors: the workspace and the event memory.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/backend.h"
#include "runtime/binding.h"
#include "runtime/status.h"

namespace etc::runtime {

/// What a launch needs.
struct MemorySizes {
  int64_t workspace_bytes = 0;
  int64_t event_counters = 0;
  int64_t profile_bytes = 0;  // 0: the kernel leaves no profile behind
};

class LaunchMemory {
 public:
  static constexpr int64_t kMaxEventCounters = int64_t{1} << 32;

  /// The manifest has the texts of what leaves failures in the event memory, if anything does.
  LaunchMemory(Backend& backend, const manifest::Manifest& manifest);
  LaunchMemory(const LaunchMemory&) = delete;
  LaunchMemory& operator=(const LaunchMemory&) = delete;
  ~LaunchMemory();

  /// The caller's workspace from now on; null: memory of our own.
  Status BindWorkspace(void* data, int64_t bytes);
  /// The caller's workspace; empty without one. All of it is zeroed before its first use.
  MemorySpan BoundSpan() const { return {bound_.data, bound_.size}; }
  /// That a bound workspace is large enough.
  Status CheckWorkspace(const MemorySizes& needed) const;

  bool Fits(const MemorySizes& needed) const;
  /// Whether the memory of a profile stays as it is when it grows.
  bool ProfileFits(const MemorySizes& needed) const {
    return profile_.bytes >= needed.profile_bytes;
  }
  /// Makes it fit. No value in the memory outlives a launch, so the old goes before the new comes.
  /// Flags in data do, and are told apart by the epoch in the event memory: a workspace is used
  /// with one event memory only, and starts as zeros with it.
  Status Grow(const MemorySizes& needed, void* stream);

  /// A captured graph holds addresses of the memory that it was captured with. What outgrew its use
  /// after a capture is therefore kept until the end.
  void NoteCapture() { was_captured_ = true; }

  /// Event memory that somebody else made, and frees.
  void BindEvents(void* data, int64_t counters);
  /// What event memory of so many counters takes.
  static int64_t EventBytes(int64_t counters);

  Status ZeroEvents(void* stream);
  /// Before each launch of a kernel with a profile: what is not written is no record.
  Status ZeroProfile(int64_t bytes, void* stream) {
    return backend_.Zero(profile_.data, bytes, stream);
  }
  /// The failure that a debug check or a watchdog has left behind: once, or until the event memory
  /// is made new where that is somebody else's.
  Status CheckFailures(void* stream);
  /// Zeroes the workspace, behind a launch that failed in event memory that somebody else makes
  /// new.
  Status Renew();

  void* workspace() const { return Workspace().data; }
  void* events() const { return events_.data; }
  void* profile() const { return profile_.data; }
  int64_t event_counters() const { return events_.size; }

 private:
  struct Memory {
    void* data = nullptr;
    int64_t size = 0;   // bytes of the workspace, counters of the event memory
    int64_t bytes = 0;  // that were allocated; 0: by somebody else
  };

  const Memory& Workspace() const { return bound_.data != nullptr ? bound_ : workspace_; }
  bool EventsFit(const MemorySizes& needed) const;
  void Release(Memory* memory);

  Backend& backend_;
  const manifest::Manifest& manifest_;
  const bool may_fail_;
  Memory bound_;
  Memory workspace_;
  bool workspace_is_zeroed_ = false;  // the bound one, or the own
  Memory events_;
  Memory profile_;
  bool was_captured_ = false;
  std::vector<Memory> retired_;
};

}  // namespace etc::runtime
