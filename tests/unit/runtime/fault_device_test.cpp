// What the runtime must refuse of programs for a GPU, on a stand-in for the CUDA driver.
#include <cstring>

#include "etc/device.h"
#include "runtime/fake_session.h"
#include "runtime/fault_table.h"

namespace etc::test {
namespace {

using nlohmann::json;

constexpr int kDriverError = 700;

TEST_CASE("faults of devices and their memory") {
  FakeCuda& fake = OpenFakeCuda();
  const TempDir dir;
  const Program program(WriteArtifact(dir, DeviceManifest(), "gather_small gather_large"));
  Instance instance(program);
  etc_instance* run = instance.get();
  void* allocated = nullptr;
  REQUIRE(etc_device_alloc(1 << 16, &allocated) == ETC_OK);
  char* memory = static_cast<char*>(allocated);
  static int32_t on_host[64];
  constexpr etc_status kBind = ETC_ERROR_BIND;
  constexpr etc_status kNoDevice = ETC_ERROR_NO_DEVICE;
  const auto at = [](uintptr_t address) { return reinterpret_cast<void*>(address); };
  fake.memory[at(0x10000)] = {256, 2, 1, true, false, 0};   // of a peer, not enabled
  fake.memory[at(0x20000)] = {128, 2, 0, false, false, 3};  // a mapping, with nothing behind it
  fake.memory[at(0x30000)] = {128, 2, 0, true, false, 3};   // two allocations side by side
  fake.memory[at(0x30080)] = {128, 2, 0, true, false, 3};
  const auto bind = [&](void* data, int64_t batch) {
    return [=] {
      const etc_tensor tensor{data, ETC_I32, 1, &batch, nullptr};
      return etc_instance_bind(run, "ids", &tensor);
    };
  };
  const auto create = [&] {
    etc_instance* made = nullptr;
    const etc_status status = etc_instance_create(program.get(), nullptr, &made);
    etc_instance_free(made);
    return status;
  };
  /// The call while a function of the driver fails.
  const auto failing = [&](const char* function, int result, auto action) {
    return [&fake, function, result, action] {
      fake.failures[function] = result;
      const etc_status status = action();
      fake.failures.clear();
      return status;
    };
  };
  const auto bind_all = [&] {
    const int64_t ids[] = {4}, table[] = {10, 8}, out[] = {32};
    const etc_tensor tensors[] = {{memory, ETC_I32, 1, ids, nullptr},
                                  {memory + 1024, ETC_F32, 2, table, nullptr},
                                  {memory + 8192, ETC_F32, 1, out, nullptr}};
    const char* names[] = {"ids", "table", "out"};
    for (int i = 0; i < 3; ++i) {
      REQUIRE(etc_instance_bind(run, names[i], &tensors[i]) == ETC_OK);
    }
  };
  const auto launch = [&] {
    bind_all();
    return etc_instance_launch(run, nullptr);
  };
  const size_t count = CheckFaults({
      {"memory of the host", bind(on_host, 4), kBind, "which the device cannot reach"},
      {"memory that is gone", bind(at(0x7000), 4), kBind, "which the device cannot reach"},
      {"beyond the allocation", bind(memory + (1 << 16) - 8, 3), kBind,
       "has 8 bytes left, but it needs 12"},
      {"into another allocation", bind(at(0x30000), 33), kBind, "has 128 bytes left"},
      {"beyond a mapping", bind(at(0x20000), 33), kBind, "has 128 bytes left, but it needs 132"},
      {"a peer that is out of reach", bind(at(0x10000), 4), kBind, "which device 0 cannot access"},
      {"a peer that is not enabled",
       [&] {
         fake.peers_can_access = true;
         return bind(at(0x10000), 4)();
       },
       kBind, "is not enabled"},
      {"a driver that fails to say",
       failing("cuPointerGetAttributes", kDriverError, bind(memory, 4)), ETC_ERROR_DEVICE,
       "cuPointerGetAttributes failed"},
      {"a workspace of the host",
       [&] {
         alignas(256) static char workspace[256];
         return etc_instance_bind_workspace(run, workspace, 256);
       },
       kBind, "the workspace is at"},
      {"a workspace beyond its allocation",
       [&] { return etc_instance_bind_workspace(run, memory, (1 << 16) + 1); }, kBind,
       "has 65536 bytes left"},
      {"a workspace over a tensor",
       [&] {
         etc_instance_bind_workspace(run, memory + 8192, 1024);
         const etc_status status = launch();
         etc_instance_bind_workspace(run, nullptr, 0);
         return status;
       },
       kBind, "overlaps the workspace"},
      {"a DLPack tensor of the host",
       [&] {
         int64_t shape[] = {4};
         const etc_dl_tensor tensor{memory, {1, 0}, 1, {0, 32, 1}, shape, nullptr, 0};
         return etc_instance_bind_dlpack(run, "ids", &tensor);
       },
       kBind, "not on a CUDA device"},
      {"a DLPack tensor of another device than its data",
       [&] {
         int64_t shape[] = {4};
         const etc_dl_tensor tensor{memory, {2, 3}, 1, {0, 32, 1}, shape, nullptr, 0};
         return etc_instance_bind_dlpack(run, "ids", &tensor);
       },
       kBind, "said to be on device 3, but its data is on device 0"},
      {"a DLPack offset out of the allocation",
       [&] {
         int64_t shape[] = {4};
         const etc_dl_tensor tensor{memory, {2, 0}, 1, {0, 32, 1}, shape, nullptr, (1 << 16) - 12};
         return etc_instance_bind_dlpack(run, "ids", &tensor);
       },
       kBind, "has 12 bytes left, but it needs 16"},
      {"133 SMs of 132", [&] { return etc_instance_set_sms(run, 133); }, ETC_ERROR_ARGUMENT,
       "must be in 0..132"},
      {"an older device",
       [&] {
         fake.major = 8;
         const etc_status status = create();
         fake.major = 9;
         return status;
       },
       kNoDevice, "is for sm_90a, but device 0 is sm_80"},
      {"a device of another minor version",
       [&] {
         fake.minor = 3;
         const etc_status status = create();
         fake.minor = 0;
         return status;
       },
       kNoDevice, "is sm_93"},
      {"too little shared memory",
       [&] {
         fake.max_shared = 1000;
         const etc_status status = create();
         fake.max_shared = 232448;
         return status;
       },
       kNoDevice, "bytes of shared memory"},
      {"a kernel that fits on no SM",
       [&] {
         fake.resident_blocks = 0;
         const etc_status status = create();
         fake.resident_blocks = 1;
         return status;
       },
       kNoDevice, "does not fit on one SM"},
      {"a binary that the driver refuses",
       [&] {
         const Program other(program.get() != nullptr ? dir.File("gather.json") : "");
         fake.failures["cuLibraryLoadData"] = 200;
         etc_instance* made = nullptr;
         const etc_status status = etc_instance_create(other.get(), nullptr, &made);
         fake.failures.clear();
         return status;
       },
       ETC_ERROR_BINARY, "cannot load binary"},
      {"no memory for events", failing("cuMemAlloc_v2", 2, launch), ETC_ERROR_OUT_OF_MEMORY,
       "cannot allocate"},
      {"a launch that the driver refuses", failing("cuLaunchKernelEx", kDriverError, launch),
       ETC_ERROR_DEVICE, "cuLaunchKernelEx failed"},
      {"a launch with larger sizes in a capture",
       [&] {
         fake.capturing.insert(at(5));
         Instance other(program);
         etc_instance_set_dim(other.get(), "batch", 4);
         for (const char* name : {"ids", "table", "out"}) {
           const bool is_table = std::strcmp(name, "table") == 0;
           const int64_t shape[] = {is_table ? 10 : std::strcmp(name, "ids") == 0 ? 4 : 32, 8};
           const etc_tensor tensor{memory + (is_table       ? 1024
                                             : *name == 'o' ? 8192
                                                            : 0),
                                   *name == 'i' ? ETC_I32 : ETC_F32, is_table ? 2 : 1, shape,
                                   nullptr};
           REQUIRE(etc_instance_bind(other.get(), name, &tensor) == ETC_OK);
         }
         const etc_status status = etc_instance_launch(other.get(), at(5));
         fake.capturing.clear();
         return status;
       },
       ETC_ERROR_CAPTURE, "while the stream is being captured"},
      {"a recording of the default stream", [] { return etc_recording_begin(nullptr); },
       ETC_ERROR_ARGUMENT, "`stream` is null"},
      {"an absent recording", [] { return etc_recording_launch(nullptr, nullptr); },
       ETC_ERROR_ARGUMENT, "`recording` is null"},
      {"an absent timer", [] { return etc_timer_start(nullptr, nullptr); }, ETC_ERROR_ARGUMENT,
       "`timer` is null"},
  });
  CHECK(count >= 25);
  CHECK(fake.context_depth == 0);
  etc_device_free(allocated);
}

}  // namespace
}  // namespace etc::test
