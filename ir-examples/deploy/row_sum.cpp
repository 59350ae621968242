// Sums the rows of a matrix with an artifact of row_sum.etir, on the GPU or on the host, as the
// artifact is for.  row_sum_cpp ARTIFACT
#include <cstdint>
#include <cstdio>
#include <vector>

#include "etc/device.h"
#include "etc/runtime.hpp"

namespace {

class DeviceBuffer {
 public:
  explicit DeviceBuffer(int64_t bytes) { etc::ThrowUnlessOk(etc_device_alloc(bytes, &data_)); }
  ~DeviceBuffer() { etc_device_free(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

template <class T>
int64_t Bytes(const std::vector<T>& values) {
  return static_cast<int64_t>(values.size() * sizeof(T));
}

void Launch(etc::Instance& run, int64_t n, void* a, void* c) {
  run.Bind("a", a, ETC_F32, {n * 32, 128});
  run.Bind("c", c, ETC_F32, {n * 32});
  run.Launch();
}

bool RowSum(const etc::Program& program, int64_t n) {
  std::vector<float> a(static_cast<size_t>(n * 32 * 128));
  std::vector<float> c(static_cast<size_t>(n * 32));
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i / 128 % 7);
  }
  etc::Instance run(program);
  run.SetDim("n", n);
  if (program.Describe().target == std::string("host")) {
    Launch(run, n, a.data(), c.data());
  } else {
    const DeviceBuffer device_a(Bytes(a));
    const DeviceBuffer device_c(Bytes(c));
    etc::ThrowUnlessOk(etc_device_copy_to(device_a.data(), a.data(), Bytes(a)));
    Launch(run, n, device_a.data(), device_c.data());
    etc::ThrowUnlessOk(etc_device_synchronize());
    etc::ThrowUnlessOk(etc_device_copy_from(c.data(), device_c.data(), Bytes(c)));
  }
  for (size_t row = 0; row < c.size(); ++row) {
    if (c[row] != static_cast<float>(row % 7 * 128)) {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "row_sum_cpp ARTIFACT\n");
    return 2;
  }
  try {
    const etc::Program program(argv[1]);
    for (const int64_t n : {1, 3, 17, 4096}) {  // one artifact for every size
      const bool right = RowSum(program, n);
      std::printf("%d rows: %s\n", static_cast<int>(n * 32), right ? "ok" : "wrong");
      if (!right) {
        return 1;
      }
    }
    return 0;
  } catch (const etc::Error& error) {
    std::fprintf(stderr, "row_sum: %s\n", error.what());
    return 1;
  }
}
