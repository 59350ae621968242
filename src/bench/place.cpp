#include "bench/place.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "etc/device.h"

namespace etc {
namespace {

class HostLauncher : public TimedLauncher {
 public:
  explicit HostLauncher(Instance& instance) : instance_(instance) { instance_.Reserve(); }

  void Launch() override { instance_.Launch(); }
  void LaunchTimed() override {
    auto start = std::chrono::steady_clock::now();
    instance_.Launch();
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    times_.push_back(took.count());
  }
  std::vector<double> Times() override { return times_; }

 private:
  Instance& instance_;
  std::vector<double> times_;
};

class HostPlace : public BenchPlace {
 public:
  std::string Name() const override { return "the host"; }
  int64_t MemoryBytes() const override { return 0; }
  int32_t Sms() const override {
    return static_cast<int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  }

  void* Allocate(int64_t bytes) override {
    return memory_.emplace_back(new (kAlignment) char[static_cast<size_t>(bytes)]).get();
  }
  void Fill(void* data, uint8_t value, int64_t bytes) override {
    std::memset(data, value, static_cast<size_t>(bytes));
  }
  void Copy(void* to, const void* from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void Upload(void* to, const void* host, int64_t bytes) override { Copy(to, host, bytes); }
  void Fetch(void* host, const void* from, int64_t bytes) override { Copy(host, from, bytes); }
  void Wait() override {}

  std::unique_ptr<TimedLauncher> Prepare(Instance& instance) override {
    return std::make_unique<HostLauncher>(instance);
  }

 private:
  static constexpr std::align_val_t kAlignment{256};
  struct Free {
    void operator()(char* data) const { operator delete[](data, kAlignment); }
  };
  std::vector<std::unique_ptr<char[], Free>> memory_;
};

struct FreeTimer {
  void operator()(etc_timer* timer) const { etc_timer_free(timer); }
};
struct FreeRecording {
  void operator()(etc_recording* recording) const { etc_recording_free(recording); }
};

class GpuLauncher : public TimedLauncher {
 public:
  GpuLauncher(Instance& instance, void* stream) : stream_(stream) {
    instance.Reserve();
    ThrowUnlessOk(etc_device_synchronize());
    instance.Launch(stream);  // what only a first launch does is not recorded
    ThrowUnlessOk(etc_recording_begin(stream));
    etc_recording* recording = nullptr;
    try {
      instance.Launch(stream);
    } catch (const Error&) {
      if (etc_recording_end(stream, &recording) == ETC_OK) {
        etc_recording_free(recording);
      }
      throw;
    }
    ThrowUnlessOk(etc_recording_end(stream, &recording));
    recording_.reset(recording);
  }

  void Launch() override { ThrowUnlessOk(etc_recording_launch(recording_.get(), stream_)); }
  void LaunchTimed() override {
    etc_timer* timer = nullptr;
    ThrowUnlessOk(etc_timer_create(&timer));
    timers_.emplace_back(timer);
    ThrowUnlessOk(etc_timer_start(timer, stream_));
    Launch();
    ThrowUnlessOk(etc_timer_stop(timer, stream_));
  }
  std::vector<double> Times() override {
    std::vector<double> times;
    for (const auto& timer : timers_) {
      ThrowUnlessOk(etc_timer_elapsed_ms(timer.get(), &times.emplace_back()));
    }
    return times;
  }

 private:
  void* stream_;
  std::unique_ptr<etc_recording, FreeRecording> recording_;
  std::vector<std::unique_ptr<etc_timer, FreeTimer>> timers_;
};

class GpuPlace : public BenchPlace {
 public:
  GpuPlace() {
    info_.struct_size = sizeof(info_);
    ThrowUnlessOk(etc_device_describe(&info_));
    ThrowUnlessOk(etc_stream_create(&stream_));
  }
  ~GpuPlace() override {
    for (void* data : memory_) {
      etc_device_free(data);
    }
    etc_stream_free(stream_);
  }
  GpuPlace(const GpuPlace&) = delete;
  GpuPlace& operator=(const GpuPlace&) = delete;

  std::string Name() const override { return info_.name; }
  int64_t MemoryBytes() const override { return info_.memory_bytes; }
  int32_t Sms() const override { return info_.sms; }

  void* Allocate(int64_t bytes) override {
    void* data = nullptr;
    ThrowUnlessOk(etc_device_alloc(bytes, &data));
    memory_.push_back(data);
    return data;
  }
  void Fill(void* data, uint8_t value, int64_t bytes) override {
    ThrowUnlessOk(etc_device_fill(data, value, bytes, stream_));
  }
  void Copy(void* to, const void* from, int64_t bytes) override {
    ThrowUnlessOk(etc_device_copy(to, from, bytes, stream_));
  }
  void Upload(void* to, const void* host, int64_t bytes) override {
    ThrowUnlessOk(etc_device_synchronize());
    ThrowUnlessOk(etc_device_copy_to(to, host, bytes));
  }
  void Fetch(void* host, const void* from, int64_t bytes) override {
    ThrowUnlessOk(etc_device_synchronize());
    ThrowUnlessOk(etc_device_copy_from(host, from, bytes));
  }
  void Wait() override { ThrowUnlessOk(etc_device_synchronize()); }

  std::unique_ptr<TimedLauncher> Prepare(Instance& instance) override {
    return std::make_unique<GpuLauncher>(instance, stream_);
  }

 private:
  etc_device_info info_{};
  void* stream_ = nullptr;
  std::vector<void*> memory_;
};

}  // namespace

std::unique_ptr<BenchPlace> MakeHostPlace() { return std::make_unique<HostPlace>(); }

std::unique_ptr<BenchPlace> MakeGpuPlace() { return std::make_unique<GpuPlace>(); }

}  // namespace etc
