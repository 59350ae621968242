// Kernels as functions of a shared object, one thread for each SM.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/backend.h"
#include "runtime/exported_memory.h"
#include "runtime/host_threads.h"
#include "runtime/launches.h"

namespace etc::runtime {
namespace {

constexpr int kMaxThreads = 4096;
constexpr int64_t kAlignment = 256;
constexpr int32_t kHostDevice = -1;  // for allocators
constexpr int32_t kDlCpu = 1;
constexpr int32_t kDlCudaHost = 3;

class HostBackend : public Backend {
 public:
  explicit HostBackend(std::vector<std::vector<HostBinary::Entry>> entries)
      : entries_(std::move(entries)) {}

  int DefaultSms() const override {
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
  }
  int MaxSms() const override { return kMaxThreads; }
  bool IsHost() const override { return true; }

  Status Allocate(int64_t bytes, void* stream, void** data) override {
    if (allocator_) {
      return AllocateBy(*allocator_, bytes, kHostDevice, stream, data);
    }
    // aligned_alloc wants a multiple of the alignment.
    const int64_t padded = bytes > INT64_MAX - kAlignment ? bytes : bytes + kAlignment - 1;
    *data = std::aligned_alloc(kAlignment, static_cast<size_t>(padded & ~(kAlignment - 1)));
    return *data != nullptr ? Status{}
                            : Fail(ETC_ERROR_OUT_OF_MEMORY, "cannot allocate ", bytes, " bytes");
  }
  void Free(void* data, int64_t bytes) override {
    if (allocator_) {
      allocator_->release(allocator_->user, data, bytes, kHostDevice);
    } else {
      std::free(data);
    }
  }
  Status Export(int64_t bytes, void** data, std::string* handle) override {
    return exported_.Make(bytes, data, handle);
  }
  void FreeExported(void* data, int64_t /*bytes*/) override { exported_.Free(data); }
  Status Import(const std::string& handle, int64_t bytes, void** data) override {
    return MapExported(handle, bytes, data);
  }
  void CloseImported(void* data, int64_t bytes) override { UnmapExported(data, bytes); }
  Status Zero(void* data, int64_t bytes, void* /*stream*/) override {
    std::memset(data, 0, static_cast<size_t>(bytes));
    return {};
  }
  Status Synchronize(void* /*stream*/) override { return {}; }
  Status IsDone(void* /*stream*/, bool* done) override {
    *done = true;
    return {};
  }
  Status Read(const void* data, int64_t bytes, void* /*stream*/, void* to) override {
    std::memcpy(to, data, static_cast<size_t>(bytes));
    return {};
  }
  Status Write(void* data, int64_t bytes, const void* from) override {
    std::memcpy(data, from, static_cast<size_t>(bytes));
    return {};
  }
  Status Drain() override { return {}; }
  Status OwnStream(void** stream) override {
    *stream = nullptr;
    return {};
  }
  Status IsCapturing(void* /*stream*/, bool* capturing) override {
    *capturing = false;
    return {};
  }

  Status CheckPointer(const void* /*data*/, int64_t /*bytes*/) override { return {}; }
  Status CheckDlpackDevice(int32_t type, int32_t /*id*/, const void* /*data*/) override {
    return type == kDlCpu || type == kDlCudaHost
               ? Status{}
               : Fail(ETC_ERROR_BIND, "the tensor is on a device (DLPack type ", type,
                      "), but the program runs on the host");
  }

  Status MakeTensorMap(const TensorBox& /*box*/, uint64_t* /*words*/) override {
    return Fail(ETC_ERROR_MANIFEST, "a host program has no tensor copies");
  }
  Status HoldThreads(int sms) override { return threads_.Hold(sms); }
  Status Launch(const LaunchRequest& request, std::vector<uint64_t>& block,
                void* /*stream*/) override {
    return threads_.Run(entries_[request.kernel][request.entry], block.data(), request.sms);
  }

 private:
  std::vector<std::vector<HostBinary::Entry>> entries_;  // of each kernel of the graph
  HostThreads threads_;
  ExportedMemory exported_;
};

}  // namespace

Status MakeHostBackend(const Program& program, const manifest::Graph& graph,
                       std::unique_ptr<Backend>* backend) {
  std::vector<std::vector<HostBinary::Entry>> entries;
  for (const manifest::Kernel& kernel : graph.kernels) {
    std::vector<HostBinary::Entry>& mine = entries.emplace_back();
    for (const std::string& name : EntryNames(kernel)) {
      ETC_RETURN_IF_BAD(program.host_binary().FindEntry(name, &mine.emplace_back()));
    }
  }
  *backend = std::make_unique<HostBackend>(std::move(entries));
  return {};
}

}  // namespace etc::runtime
