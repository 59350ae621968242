// Times launches of an artifact whose kernel is a list of launches, one by one and as the graph
// that the runtime keeps: bench_replay ARTIFACT DIM=VALUE... [other DIM=VALUE...]. It prints the
// host's time of a launch as it was, behind a bind, and (with `other`) at two sizes by turns; then
// the device's time of a step. The results of both ways are compared.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "etc/device.h"
#include "etc/runtime.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Dims = std::map<std::string, int64_t>;

constexpr int kRounds = 200;
constexpr int64_t kPattern = 1 << 20;  // bytes that fill a tensor again and again

struct Tensor {
  std::string name;
  etc_access access;
  etc_dtype dtype;
  std::vector<int64_t> shape;  // as it is bound
  int64_t bytes;
  void* data[2];  // two places, to be bound by turns
};

/// Elements of a tensor that a program can do with: small floats, and integers in their range.
std::vector<char> Pattern(etc_dtype dtype, int64_t min, int64_t max) {
  std::vector<char> bytes(kPattern);
  const int64_t size = etc_dtype_bytes(dtype);
  const uint64_t range = static_cast<uint64_t>(max) - static_cast<uint64_t>(min) + 1;
  uint32_t random = 1;
  for (int64_t i = 0; i < kPattern / size; ++i) {
    random = random * 1664525 + 1013904223;
    const float value = (static_cast<float>(random >> 8) / (1 << 24) - 0.5F) * 0.1F;
    uint32_t word = 0;
    std::memcpy(&word, &value, sizeof(word));
    if (dtype == ETC_BF16) {
      word >>= 16;
    }
    int64_t integer = range == 0 ? 0 : min + static_cast<int64_t>(static_cast<uint64_t>(i) % range);
    const bool is_float = dtype == ETC_F32 || dtype == ETC_BF16;
    std::memcpy(&bytes[static_cast<size_t>(i * size)],
                is_float ? static_cast<const void*>(&word) : &integer, static_cast<size_t>(size));
  }
  return bytes;
}

/// All parameters under the dims, in memory of the device.
std::vector<Tensor> MakeTensors(const etc::Program& program, const etc::Instance& instance) {
  std::vector<Tensor> tensors;
  const int32_t params = program.Graph(0).params;
  for (int32_t i = 0; i < params; ++i) {
    const etc_param_info info = program.Param(nullptr, i);
    Tensor tensor{info.name, info.access, info.dtype, {}, etc_dtype_bytes(info.dtype), {}};
    tensor.shape = instance.Shape(info.name, info.rank);
    for (const int64_t extent : tensor.shape) {
      tensor.bytes *= extent;
    }
    tensor.shape = etc::PackedShape(tensor.shape, info.tile);
    const auto range = instance.ValueRange(info.name);
    const bool has_range = info.has_value_range != 0;
    const std::vector<char> pattern =
        Pattern(info.dtype, has_range ? range.first : 0, has_range ? range.second : 0);
    // Large tensors need no second place: one that is bound elsewhere changes the block as well.
    const bool is_small = tensor.bytes <= kPattern;
    for (int place = 0; place < (is_small ? 2 : 1); ++place) {
      etc::ThrowUnlessOk(etc_device_alloc(tensor.bytes, &tensor.data[place]));
      for (int64_t at = 0; at < tensor.bytes; at += kPattern) {
        etc::ThrowUnlessOk(etc_device_copy_to(static_cast<char*>(tensor.data[place]) + at,
                                              pattern.data(),
                                              std::min(kPattern, tensor.bytes - at)));
      }
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

void Bind(etc::Instance& instance, const Tensor& tensor, int place) {
  void* data = tensor.data[place] != nullptr ? tensor.data[place] : tensor.data[0];
  instance.Bind(tensor.name, data, tensor.dtype, tensor.shape);
}

void SetAll(etc::Instance& instance, const Dims& dims, const std::vector<Tensor>& tensors) {
  for (const auto& [name, value] : dims) {
    instance.SetDim(name, value);
  }
  for (const Tensor& tensor : tensors) {
    Bind(instance, tensor, 0);
  }
}

double Median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

/// Microseconds of the host for `prepare` and a launch, when the device has nothing to do.
template <class Prepare>
double HostMicroseconds(etc::Instance& instance, void* stream, Prepare prepare) {
  std::vector<double> times;
  for (int i = -10; i < kRounds; ++i) {
    etc::ThrowUnlessOk(etc_device_synchronize());
    const auto start = Clock::now();
    prepare(i);
    instance.Launch(stream);
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    if (i >= 0) {
      times.push_back(took.count());
    }
  }
  return Median(times);
}

/// Microseconds from one step to the next on the stream.
double DeviceMicroseconds(etc::Instance& instance, void* stream, int steps) {
  std::vector<double> times;
  etc_timer* timer = nullptr;
  etc::ThrowUnlessOk(etc_timer_create(&timer));
  for (int i = 0; i < 20; ++i) {
    double milliseconds = 0;
    etc::ThrowUnlessOk(etc_timer_start(timer, stream));
    for (int step = 0; step < steps; ++step) {
      instance.Launch(stream);
    }
    etc::ThrowUnlessOk(etc_timer_stop(timer, stream));
    etc::ThrowUnlessOk(etc_timer_elapsed_ms(timer, &milliseconds));
    times.push_back(milliseconds * 1000 / steps);
  }
  etc_timer_free(timer);
  return Median(times);
}

/// What a launch writes, from what all tensors hold at the start.
std::vector<char> Results(etc::Instance& instance, const std::vector<Tensor>& tensors,
                          void* stream) {
  std::vector<char> all;
  for (const Tensor& tensor : tensors) {
    if (tensor.access == ETC_OUT) {
      etc::ThrowUnlessOk(etc_device_fill(tensor.data[0], 0xff, tensor.bytes, stream));
    }
  }
  instance.Launch(stream);
  etc::ThrowUnlessOk(etc_device_synchronize());
  for (const Tensor& tensor : tensors) {
    if (tensor.access == ETC_OUT) {
      std::vector<char> bytes(static_cast<size_t>(tensor.bytes));
      etc::ThrowUnlessOk(etc_device_copy_from(bytes.data(), tensor.data[0], tensor.bytes));
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
  }
  return all;
}

int Run(const std::string& artifact, const Dims& dims, const Dims& other_dims) {
  etc_set_log([](void*, etc_log_level, const char* text) { std::fprintf(stderr, "  %s\n", text); },
              nullptr);
  const etc::Program program(artifact);
  etc::Instance instance(program);
  void* stream = nullptr;
  etc::ThrowUnlessOk(etc_stream_create(&stream));
  const auto make = [&](const Dims& sizes) {
    for (const auto& [name, value] : sizes) {
      instance.SetDim(name, value);
    }
    return MakeTensors(program, instance);
  };
  const std::vector<Tensor> other = other_dims.empty() ? std::vector<Tensor>() : make(other_dims);
  const std::vector<Tensor> tensors = make(dims);
  const auto small = std::find_if(tensors.begin(), tensors.end(),
                                  [](const Tensor& tensor) { return tensor.data[1] != nullptr; });

  std::printf("%-12s %14s %14s %14s %12s %12s\n", "host us:", "launch", "bind, launch",
              "sizes, launch", "GPU us: step", "one alone");
  std::vector<char> expected;
  for (const bool replay : {false, true}) {
    instance.SetReplay(replay);
    SetAll(instance, dims, tensors);
    instance.Launch(stream);
    instance.Launch(stream);
    const std::vector<char> results = Results(instance, tensors, stream);
    if (!replay) {
      expected = results;
    } else if (results != expected) {
      std::printf("the results differ\n");
      return 1;
    }
    const double again = HostMicroseconds(instance, stream, [](int) {});
    const double bound =
        small == tensors.end()
            ? 0.0
            : HostMicroseconds(instance, stream, [&](int i) { Bind(instance, *small, i & 1); });
    SetAll(instance, dims, tensors);
    const double step = DeviceMicroseconds(instance, stream, 20);
    const double alone = DeviceMicroseconds(instance, stream, 1);
    const double sized = other.empty() ? 0.0 : HostMicroseconds(instance, stream, [&](int i) {
      const bool is_other = (i & 1) != 0;
      SetAll(instance, is_other ? other_dims : dims, is_other ? other : tensors);
    });
    std::printf("%-12s %14.1f %14.1f %14.1f %12.1f %12.1f\n", replay ? "replayed" : "one by one",
                again, bound, sized, step, alone);
  }
  etc::ThrowUnlessOk(etc_device_synchronize());
  std::printf("the results are the same\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Dims dims;
  Dims other;
  bool is_other = false;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (word == "other") {
      is_other = true;
    } else if (equals != std::string::npos) {
      (is_other ? other : dims)[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
    }
  }
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_replay ARTIFACT DIM=VALUE... [other DIM=VALUE...]\n");
    return 2;
  }
  try {
    return Run(argv[1], dims, other);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_replay: %s\n", error.what());
    return 5;
  }
}
