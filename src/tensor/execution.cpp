#include "tensor/execution.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "etc/device.h"
#include "tensor/program_view.h"

namespace etc {

/// One parameter's memory: the tensor's own for an `in` on the host, else a copy.
struct Execution::Bound {
  const TensorData* tensor = nullptr;
  Bytes packed;  // where the parameter has a layout
  Bytes copy;
  void* device = nullptr;

  Bound() = default;
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;
  ~Bound() {
    if (device != nullptr) {
      etc_device_free(device);
    }
  }
  bool IsWritten() const { return tensor->access != ETC_IN; }
};

namespace {

/// Milliseconds that `launch` takes on the host.
template <class LaunchOnce>
double TimeOnHost(LaunchOnce launch) {
  auto start = std::chrono::steady_clock::now();
  launch();
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

/// Milliseconds between two points of the default stream around `launch`.
template <class LaunchOnce>
double TimeOnGpu(LaunchOnce launch) {
  etc_timer* timer = nullptr;
  ThrowUnlessOk(etc_timer_create(&timer));
  std::unique_ptr<etc_timer, void (*)(etc_timer*)> owner(timer, etc_timer_free);
  double milliseconds = 0;
  ThrowUnlessOk(etc_timer_start(timer, nullptr));
  launch();
  ThrowUnlessOk(etc_timer_stop(timer, nullptr));
  ThrowUnlessOk(etc_timer_elapsed_ms(timer, &milliseconds));
  return milliseconds;
}

/// A number that the user gave: only the instance knows how many its device has.
void SetSms(Instance& instance, int32_t sms) {
  try {
    instance.SetSms(sms);
  } catch (const Error& error) {
    throw error.status() == ETC_ERROR_ARGUMENT ? Error(ETC_ERROR_NO_DEVICE, error.what()) : error;
  }
}

}  // namespace

Execution::Execution(const Program& program, const std::string& graph, int32_t sms)
    : Execution(program, graph, sms, Instance(program, graph.empty() ? nullptr : graph.c_str())) {}

Execution::Execution(const Program& program, const std::string& graph, int32_t sms,
                     Instance instance, std::optional<int32_t> device)
    : program_(program),
      graph_(graph),
      on_gpu_(!IsForHost(program)),
      device_(device),
      device_workspace_(nullptr, [](void* data) { etc_device_free(data); }),
      instance_(std::move(instance)) {
  SetSms(instance_, sms);
}

Execution::~Execution() = default;

void Execution::UseDevice() const {
  if (device_) {
    ThrowUnlessOk(etc_device_use(*device_));
  }
}

const Bytes& Execution::Source(const Bound& bound) const {
  return bound.tensor->InTiles() ? bound.packed : bound.tensor->bytes;
}

void Execution::Bind(const TensorData& tensor) {
  auto bound = std::make_unique<Bound>();
  bound->tensor = &tensor;
  if (tensor.InTiles()) {
    bound->packed.resize(tensor.bytes.size());
    program_.Pack(graph_.c_str(), tensor.name, tensor.shape, tensor.bytes.data(),
                  bound->packed.data());
  }
  const Bytes& source = Source(*bound);
  auto bytes = static_cast<int64_t>(source.size());
  void* data = nullptr;
  if (on_gpu_) {
    UseDevice();
    ThrowUnlessOk(etc_device_alloc(std::max<int64_t>(bytes, 1), &bound->device));
    ThrowUnlessOk(etc_device_copy_to(bound->device, source.data(), bytes));
    data = bound->device;
  } else if (bound->IsWritten()) {
    bound->copy = source;
    data = bound->copy.data();
  } else {
    data = const_cast<char*>(source.data());  // the program only reads an `in`
  }
  instance_.Bind(tensor.name, data, tensor.dtype, PackedShape(tensor.shape, tensor.tile.data()));
  bound_.push_back(std::move(bound));
}

void Execution::PoisonWorkspace(unsigned char byte) {
  constexpr size_t kAlignment = 256;
  int64_t bytes = instance_.WorkspaceBytes();
  if (bytes == 0) {
    return;
  }
  void* begin = nullptr;
  if (on_gpu_) {
    UseDevice();
    ThrowUnlessOk(etc_device_alloc(bytes, &begin));
    device_workspace_.reset(begin);
  } else {
    host_workspace_.resize(static_cast<size_t>(bytes) + kAlignment);
    begin = host_workspace_.data();
    size_t space = host_workspace_.size();
    std::align(kAlignment, static_cast<size_t>(bytes), begin, space);
  }
  instance_.BindWorkspace(begin, bytes);
  instance_.Reserve();  // which zeroes it
  workspace_ = begin;
  workspace_bytes_ = bytes;
  poison_ = byte;
}

void Execution::Refill() {
  UseDevice();
  if (workspace_ != nullptr && on_gpu_) {
    ThrowUnlessOk(etc_device_fill(workspace_, poison_, workspace_bytes_, nullptr));
  } else if (workspace_ != nullptr) {
    std::memset(workspace_, poison_, static_cast<size_t>(workspace_bytes_));
  }
  for (auto& bound : bound_) {
    const Bytes& bytes = Source(*bound);
    if (bound->IsWritten() && on_gpu_) {
      ThrowUnlessOk(
          etc_device_copy_to(bound->device, bytes.data(), static_cast<int64_t>(bytes.size())));
    } else if (bound->IsWritten()) {
      std::copy(bytes.begin(), bytes.end(), bound->copy.begin());
    }
  }
}

double Execution::Launch() {
  Refill();
  if (!on_gpu_) {
    return TimeOnHost([&] { instance_.Launch(); });
  }
  double milliseconds = TimeOnGpu([&] { instance_.Launch(); });
  ThrowUnlessOk(etc_device_synchronize());
  instance_.Check();
  return milliseconds;
}

Results Execution::Fetch() {
  UseDevice();
  Results results;
  for (auto& bound : bound_) {
    if (!bound->IsWritten()) {
      continue;
    }
    Bytes& bytes = results[bound->tensor->name];
    bytes = bound->copy;
    if (on_gpu_) {
      bytes.resize(bound->tensor->bytes.size());
      ThrowUnlessOk(
          etc_device_copy_from(bytes.data(), bound->device, static_cast<int64_t>(bytes.size())));
    }
    if (bound->tensor->InTiles()) {
      const Bytes packed = bytes;
      program_.Unpack(graph_.c_str(), bound->tensor->name, bound->tensor->shape, packed.data(),
                      bytes.data());
    }
  }
  return results;
}

}  // namespace etc
