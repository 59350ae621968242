// Kernels as functions of a shared object, one thread for each SM.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include "runtime/backend.h"
#include "runtime/launches.h"

namespace etc::runtime {
namespace {

constexpr int kMaxThreads = 4096;
constexpr int64_t kAlignment = 256;
constexpr int32_t kDlCpu = 1;
constexpr int32_t kDlCudaHost = 3;

/// Holds the threads back until all of them exist: they wait for one another inside the kernel, so
/// either all run it or none does.
class Gate {
 public:
  void Open(bool go) {
    state_.store(go ? 1 : 2);
    state_.notify_all();
  }
  bool Pass() {
    state_.wait(0);
    return state_.load() == 1;
  }

 private:
  std::atomic<int> state_{0};
};

class HostBackend : public Backend {
 public:
  explicit HostBackend(std::vector<std::vector<HostBinary::Entry>> entries)
      : entries_(std::move(entries)) {}

  int DefaultSms() const override {
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
  }
  int MaxSms() const override { return kMaxThreads; }
  bool IsHost() const override { return true; }

  Status Allocate(int64_t bytes, void** data) override {
    // aligned_alloc wants a multiple of the alignment.
    const int64_t padded = bytes > INT64_MAX - kAlignment ? bytes : bytes + kAlignment - 1;
    *data = std::aligned_alloc(kAlignment, static_cast<size_t>(padded & ~(kAlignment - 1)));
    return *data != nullptr ? Status{}
                            : Fail(ETC_ERROR_OUT_OF_MEMORY, "cannot allocate ", bytes, " bytes");
  }
  void Free(void* data) override { std::free(data); }
  Status Zero(void* data, int64_t bytes, void* /*stream*/) override {
    std::memset(data, 0, static_cast<size_t>(bytes));
    return {};
  }
  Status Synchronize(void* /*stream*/) override { return {}; }
  Status Read(const void* data, int64_t bytes, void* /*stream*/, void* to) override {
    std::memcpy(to, data, static_cast<size_t>(bytes));
    return {};
  }
  Status IsCapturing(void* /*stream*/, bool* capturing) override {
    *capturing = false;
    return {};
  }

  Status CheckPointer(const void* /*data*/) override { return {}; }
  Status CheckDlpackDevice(int32_t type, int32_t /*id*/) override {
    return type == kDlCpu || type == kDlCudaHost
               ? Status{}
               : Fail(ETC_ERROR_BIND, "the tensor is on a device (DLPack type ", type,
                      "), but the program runs on the host");
  }

  Status Launch(const LaunchRequest& request, std::vector<uint64_t>& block,
                void* /*stream*/) override {
    const HostBinary::Entry entry = entries_[request.kernel][request.entry];
    const int sms = request.sms;
    Gate gate;
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(sms - 1));
    Status status;
    try {
      for (int sm = 1; sm < sms; ++sm) {
        threads.emplace_back([&gate, &block, entry, sm, sms] {
          if (gate.Pass()) {
            entry(block.data(), sm, sms);
          }
        });
      }
    } catch (const std::system_error&) {
      status = Fail(ETC_ERROR_OUT_OF_MEMORY, "cannot start ", sms, " threads, only ",
                    threads.size() + 1);
    }
    gate.Open(status.Ok());
    if (status.Ok()) {
      entry(block.data(), 0, sms);
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return status;
  }

 private:
  std::vector<std::vector<HostBinary::Entry>> entries_;  // of each kernel of the graph
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
