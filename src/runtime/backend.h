// What an instance needs from the place where its kernels run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "etc/manifest.h"
#include "runtime/program.h"
#include "runtime/status.h"

namespace etc::runtime {

class Backend {
 public:
  virtual ~Backend() = default;

  virtual int DefaultSms() const = 0;
  virtual int MaxSms() const = 0;
  /// Host memory can be looked at before a launch, and host events are zeroed before each.
  virtual bool IsHost() const = 0;

  /// Aligned to 256 bytes.
  virtual Status Allocate(int64_t bytes, void** data) = 0;
  /// Waits for launches that may use the memory.
  virtual void Free(void* data) = 0;
  virtual Status Zero(void* data, int64_t bytes, void* stream) = 0;
  virtual Status Synchronize(void* stream) = 0;
  virtual Status IsCapturing(void* stream, bool* capturing) = 0;

  /// Whether kernels can reach the memory; the text of a failure completes "the data ...".
  virtual Status CheckPointer(const void* data) = 0;
  virtual Status CheckDlpackDevice(int32_t type, int32_t id) = 0;

  /// `kernel` is an index into the graph's kernels.
  virtual Status Launch(size_t kernel, std::vector<uint64_t>& block, int sms, void* stream) = 0;
};

Status MakeHostBackend(const Program& program, const manifest::Graph& graph,
                       std::unique_ptr<Backend>* backend);
Status MakeDeviceBackend(const Program& program, const manifest::Graph& graph,
                         std::unique_ptr<Backend>* backend);

}  // namespace etc::runtime
