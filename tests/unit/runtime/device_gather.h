// A `gather` artifact on the stand-in for a device.
#pragma once

#include <cstdint>

#include "etc/device.h"
#include "runtime/artifact.h"
#include "runtime/fake_session.h"

namespace etc::test {

/// A `gather` on the stand-in, with device memory to bind.
struct DeviceGather {
  explicit DeviceGather(const nlohmann::json& manifest = DeviceManifest())
      : program(WriteArtifact(dir, manifest, "gather_small gather_large")) {
    ThrowUnlessOk(etc_device_alloc(1 << 16, &memory));
  }
  ~DeviceGather() { etc_device_free(memory); }

  void Bind(Instance& instance, int64_t batch, int64_t width) {
    char* bytes = static_cast<char*>(memory);
    instance.Bind("ids", bytes, ETC_I32, {batch});
    instance.Bind("table", bytes + 1024, ETC_F32, {10, width});
    instance.Bind("out", bytes + 8192, ETC_F32, {batch * width});
  }

  TempDir dir;
  Program program;
  void* memory = nullptr;
};

inline void* Stream(uintptr_t number) { return reinterpret_cast<void*>(number); }

}  // namespace etc::test
