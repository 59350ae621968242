// What an instance needs from the place where its kernels run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/allocator.h"
#include "runtime/manifest.h"
#include "runtime/program.h"
#include "runtime/status.h"
#include "runtime/tensor_maps.h"

namespace etc::runtime {

enum class LaunchMode {
  Cooperative,  // all CTAs run side by side, so they may wait for each other
  InOrder,      // starts when all before it on the stream has ended
  Overlapping,  // starts early, and waits by itself where it depends on the launch before
};

/// One entry of the binary, with one CTA (on the host: one thread) for each SM.
struct LaunchRequest {
  size_t kernel = 0;  // index into the graph's kernels
  size_t entry = 0;   // number of the kernel's entry
  int sms = 0;
  LaunchMode mode = LaunchMode::Cooperative;
};

/// Launches that the device keeps, one behind the other, and starts as one.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;

  /// The next launch. The block is copied.
  virtual Status Add(const LaunchRequest& request, std::vector<uint64_t>& block) = 0;
  /// Behind the last.
  virtual Status Finish() = 0;
  /// Has a launch start with other sizes and another block from the next start on.
  virtual Status Set(size_t index, const LaunchRequest& request, std::vector<uint64_t>& block) = 0;
  virtual Status Start(void* stream) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual int DefaultSms() const = 0;
  virtual int MaxSms() const = 0;
  /// A host launch has ended when it returns, and host events are zeroed before each.
  virtual bool IsHost() const = 0;

  /// Aligned to 256 bytes, for what is enqueued on the stream from now on.
  virtual Status Allocate(int64_t bytes, void* stream, void** data) = 0;
  /// Waits for launches that may use the memory.
  virtual void Free(void* data, int64_t bytes) = 0;
  /// Memory that the peers of a rank reach, too.
  virtual Status AllocateShared(int64_t bytes, void** data) {
    return Allocate(bytes, nullptr, data);
  }
  virtual void FreeShared(void* data, int64_t bytes) { Free(data, bytes); }
  /// The same for peers in other processes, which know it by the handle.
  virtual Status Export(int64_t bytes, void** data, std::string* handle) = 0;
  virtual void FreeExported(void* data, int64_t bytes) = 0;
  /// What a peer in another process has exported.
  virtual Status Import(const std::string& handle, int64_t bytes, void** data) = 0;
  virtual void CloseImported(void* data, int64_t bytes) = 0;
  virtual Status Zero(void* data, int64_t bytes, void* stream) = 0;
  virtual Status Synchronize(void* stream) = 0;
  /// Whether all work on the stream has ended.
  virtual Status IsDone(void* stream, bool* done) = 0;
  /// Waits for the stream, and reads memory of Allocate.
  virtual Status Read(const void* data, int64_t bytes, void* stream, void* to) = 0;
  /// Into memory of Allocate or AllocateShared.
  virtual Status Write(void* data, int64_t bytes, const void* from) = 0;
  /// Waits for all work of the place.
  virtual Status Drain() = 0;
  /// A stream of the backend's own, which the default stream waits for, and the other way round;
  /// null on the host.
  virtual Status OwnStream(void** stream) = 0;
  virtual Status IsCapturing(void* stream, bool* capturing) = 0;
  /// Whether the backend can launch on the stream, as far as that is known.
  virtual Status CheckStream(void* /*stream*/) { return {}; }

  /// Whether kernels can reach the memory, all of it; the text of a failure completes "the data
  /// ...".
  virtual Status CheckPointer(const void* data, int64_t bytes) = 0;
  /// Whether the place that DLPack names is one that kernels reach, and the memory's own.
  virtual Status CheckDlpackDevice(int32_t type, int32_t id, const void* data) = 0;

  /// Has the threads of the next launch on so many SMs, which then does not fail for want of them;
  /// those of one SM are none.
  virtual Status HoldThreads(int /*sms*/) { return {}; }
  virtual Status Launch(const LaunchRequest& request, std::vector<uint64_t>& block,
                        void* stream) = 0;
  /// The kMapWords words by which tensor copies know a tensor.
  virtual Status MakeTensorMap(const TensorBox& box, uint64_t* words) = 0;
  /// Null where launches are not kept. The backend must outlive it.
  virtual std::unique_ptr<LaunchGraph> NewGraph() { return nullptr; }

 protected:
  /// The caller's, where there was one when the backend was made.
  const std::optional<etc_allocator> allocator_ = CurrentAllocator();
};

Status MakeHostBackend(const Program& program, const manifest::Graph& graph,
                       std::unique_ptr<Backend>* backend);
/// On the device whose context is current, which `sharers` backends use at once: each has a part of
/// its SMs.
Status MakeDeviceBackend(const Program& program, const manifest::Graph& graph, int sharers,
                         std::unique_ptr<Backend>* backend);

}  // namespace etc::runtime
