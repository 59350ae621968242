#include "etc/device.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/fake_session.h"

namespace etc::test {
namespace {

using nlohmann::json;

constexpr int64_t kEventBytes = 128;

/// A `gather` on the stand-in, with device memory to bind.
struct DeviceGather {
  explicit DeviceGather(const json& manifest = DeviceManifest())
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

void* Stream(uintptr_t number) { return reinterpret_cast<void*>(number); }

TEST_CASE("a launch is cooperative, on every SM, with the block that the contract lays out") {
  FakeCuda& fake = OpenFakeCuda();
  DeviceGather gather;
  {
    Instance instance(gather.program);
    gather.Bind(instance, 16, 8);
    instance.Launch(Stream(7));
    REQUIRE(fake.launches.size() == 1);
    const FakeLaunch& launch = fake.launches[0];
    CHECK(launch.entry == "gather_large");
    CHECK(launch.grid == 132);
    CHECK(launch.threads == 256);
    CHECK(launch.shared_bytes == 100000);
    CHECK(launch.is_cooperative);
    CHECK(launch.stream == Stream(7));

    const auto address = reinterpret_cast<uint64_t>(gather.memory);
    REQUIRE(launch.block.size() == 8);
    CHECK(launch.block[0] == address);
    CHECK(launch.block[1] == address + 1024);
    CHECK(launch.block[2] == address + 8192);
    CHECK(launch.block[3] == 16);
    CHECK(launch.block[4] == 8);
    CHECK(fake.allocations.at(reinterpret_cast<void*>(launch.block[5])) == 16 * 8 * 4);
    CHECK(fake.allocations.at(reinterpret_cast<void*>(launch.block[6])) ==
          kEventBytes + 2 * 16 * 128);
    CHECK(launch.block[7] == 16);

    instance.SetSms(100);
    instance.Launch();
    CHECK(fake.launches[1].grid == 100);
    CHECK(FailureOf([&] { instance.SetSms(133); }).text ==
          "the number of SMs is 133, but must be in 0..132");
  }
  CHECK(fake.allocations.size() == 1);
  CHECK(fake.context_depth == 0);
}

TEST_CASE("memory is zeroed when it is allocated, in the order of the stream, and only then") {
  FakeCuda& fake = OpenFakeCuda();
  DeviceGather gather;
  Instance instance(gather.program);
  for (const int64_t batch : {4, 2, 4, 8, 3}) {
    gather.Bind(instance, batch, 8);
    instance.Launch(Stream(5));
  }
  // The workspace, then the event memory, whose epoch the flags in the workspace stand for.
  REQUIRE(fake.memsets.size() == 4);
  CHECK(fake.memsets[1].bytes == kEventBytes + 2 * 4 * 128);
  CHECK(fake.memsets[3].bytes == kEventBytes + 2 * 8 * 128);
  CHECK(fake.memsets[2].stream == Stream(5));
  CHECK(fake.memsets[3].stream == Stream(5));
  CHECK(fake.launches[1].block[7] == 4);  // the capacity stays, so both sets stay where they are
  CHECK(fake.launches[4].block[7] == 8);
  CHECK(fake.allocations.size() == 3);
}

TEST_CASE("nothing is allocated during a capture") {
  FakeCuda& fake = OpenFakeCuda();
  DeviceGather gather;
  Instance instance(gather.program);
  gather.Bind(instance, 4, 8);
  fake.capturing.insert(Stream(5));
  const Failure failure = FailureOf([&] { instance.Launch(Stream(5)); });
  CHECK(failure.status == ETC_ERROR_CAPTURE);
  CHECK(failure.text.find("reserve or launch once with these sizes before the capture") !=
        std::string::npos);
  CHECK(fake.launches.empty());
  CHECK(fake.allocations.size() == 1);

  instance.Reserve();
  CHECK(fake.synchronized == std::vector<void*>{nullptr});
  instance.Launch(Stream(5));
  CHECK(fake.launches.size() == 1);
}

TEST_CASE("memory that a captured graph knows outlives its use") {
  FakeCuda& fake = OpenFakeCuda();
  DeviceGather gather;
  {
    Instance instance(gather.program);
    gather.Bind(instance, 4, 8);
    instance.Reserve();
    fake.capturing.insert(Stream(5));
    instance.Launch(Stream(5));
    const uint64_t captured_workspace = fake.launches[0].block[5];
    const uint64_t captured_events = fake.launches[0].block[6];

    gather.Bind(instance, 8, 8);
    instance.Launch(Stream(6));
    CHECK(fake.launches[1].block[5] != captured_workspace);
    CHECK(fake.allocations.count(reinterpret_cast<void*>(captured_workspace)) == 1);
    CHECK(fake.allocations.count(reinterpret_cast<void*>(captured_events)) == 1);
  }
  CHECK(fake.allocations.size() == 1);
}

TEST_CASE("without a current context the primary one is retained, once") {
  FakeCuda& fake = OpenFakeCuda();
  DeviceGather gather;
  const void* primary = fake.current;
  CHECK(primary != nullptr);
  const Instance first(gather.program);
  fake.current = nullptr;
  const Instance second(gather.program);
  CHECK(fake.primaries <= 1);
  CHECK(fake.current == primary);
  CHECK(fake.libraries == 1);
}

TEST_CASE("the library goes with the program and its last instance") {
  FakeCuda& fake = OpenFakeCuda();
  {
    DeviceGather gather;
    const Instance instance(gather.program);
    CHECK(fake.libraries == 1);
  }
  CHECK(fake.libraries == 0);
  CHECK(fake.allocations.empty());
}

TEST_CASE("the device must be the program's") {
  FakeCuda& fake = OpenFakeCuda();
  DeviceGather gather;
  const auto failure = [&] { return FailureOf([&] { const Instance made(gather.program); }); };
  fake.major = 8;
  CHECK(failure().status == ETC_ERROR_NO_DEVICE);
  CHECK(failure().text == "the program is for sm_90a, but device 0 is sm_80");
  fake.major = 9;
  fake.max_shared = 65536;
  CHECK(failure().text ==
        "kernel `gather_small` needs 100000 bytes of shared memory, but device 0 has 65536");
  fake.max_shared = 232448;
  fake.resident_blocks = 0;
  CHECK(failure().text == "kernel `gather_small` does not fit on one SM of device 0");
  fake.resident_blocks = 1;
  CHECK(failure().status == ETC_OK);
}

TEST_CASE("a target without a letter runs on later devices of its generation") {
  FakeCuda& fake = OpenFakeCuda();
  json manifest = DeviceManifest();
  manifest["target"] = "sm_80";
  DeviceGather gather(manifest);
  const auto status = [&] {
    return FailureOf([&] { const Instance made(gather.program); }).status;
  };
  fake.major = 8;
  fake.minor = 6;
  CHECK(status() == ETC_OK);
  fake.major = 9;
  CHECK(status() == ETC_ERROR_NO_DEVICE);
}

TEST_CASE("each kernel is found in the image that has it, and an image that fails leaves none") {
  FakeCuda& fake = OpenFakeCuda();
  json manifest = DeviceManifest();
  manifest["features"].push_back("images");
  manifest["binary"]["images"] = {0, 64};
  std::string binary = "gather_large";
  binary.resize(64);
  const TempDir dir;
  {
    const Program program(WriteArtifact(dir, manifest, binary + "gather_small"));
    fake.failures["cuLibraryLoadData"] = 200;
    CHECK(FailureOf([&] { const Instance instance(program); }).status == ETC_ERROR_BINARY);
    CHECK(fake.libraries == 0);
    fake.failures.clear();
    const Instance instance(program);
    CHECK(fake.libraries == 2);
  }
  CHECK(fake.libraries == 0);
  const Program lacking(WriteArtifact(dir, manifest, binary + "gather_other"));
  CHECK(FailureOf([&] { const Instance instance(lacking); }).text ==
        "binary `" + dir.File("gather.cubin") + "` has no entry `gather_small`");
}

TEST_CASE("failures of the driver") {
  FakeCuda& fake = OpenFakeCuda();
  {
    DeviceGather gather;
    fake.failures["cuLibraryLoadData"] = 200;
    const Failure load = FailureOf([&] { const Instance instance(gather.program); });
    CHECK(load.status == ETC_ERROR_BINARY);
    CHECK(load.text == "cannot load binary `" + gather.dir.File("gather.cubin") +
                           "`: cuLibraryLoadData failed: CUDA_ERROR_FAKE (as the test wants it)");
    fake.failures.clear();

    Instance instance(gather.program);
    gather.Bind(instance, 4, 8);
    fake.failures["cuMemAlloc_v2"] = 2;
    const Failure memory = FailureOf([&] { instance.Launch(); });
    CHECK(memory.status == ETC_ERROR_OUT_OF_MEMORY);
    CHECK(memory.text ==
          "cannot allocate 128 bytes: cuMemAlloc failed: CUDA_ERROR_FAKE (as the test wants it)");
    fake.failures = {{"cuMemsetD8Async", 1}};
    CHECK(FailureOf([&] { instance.Launch(); }).status == ETC_ERROR_DEVICE);
    fake.failures = {{"cuLaunchKernelEx", 700}};
    CHECK(FailureOf([&] { instance.Launch(); }).text ==
          "cuLaunchKernelEx failed: CUDA_ERROR_FAKE (as the test wants it)");
    fake.failures.clear();
    instance.Launch();
    CHECK(fake.launches.size() == 1);
  }
  CHECK(fake.allocations.empty());
  CHECK(fake.context_depth == 0);
}

TEST_CASE("an entry that the cubin lacks") {
  OpenFakeCuda();
  json manifest = DeviceManifest();
  manifest["graphs"][0]["kernels"][0]["entry"] = "scatter";
  DeviceGather gather(manifest);
  CHECK(FailureOf([&] { const Instance instance(gather.program); }).text ==
        "binary `" + gather.dir.File("gather.cubin") + "` has no entry `scatter`");
}

TEST_CASE("tensors must be where the device reaches them") {
  OpenFakeCuda();
  DeviceGather gather;
  Instance instance(gather.program);
  int32_t on_host[4] = {};
  const Failure host = FailureOf([&] { instance.Bind("ids", on_host, ETC_I32, {4}); });
  CHECK(host.status == ETC_ERROR_BIND);
  CHECK(host.text.find("which the device cannot reach") != std::string::npos);
  alignas(256) static char workspace[256];
  CHECK(FailureOf([&] { instance.BindWorkspace(workspace, 256); }).status == ETC_ERROR_BIND);

  int64_t shape[] = {4};
  etc_dl_tensor tensor{gather.memory, {2, 0}, 1, {0, 32, 1}, shape, nullptr, 0};
  instance.BindDlpack("ids", tensor);
  CHECK(instance.Dim("batch") == 4);
  tensor.device.device_id = 1;
  CHECK(FailureOf([&] { instance.BindDlpack("ids", tensor); }).text ==
        "parameter `ids`: the tensor is said to be on device 1, but its data is on device 0");
  tensor.device = {1, 0};
  CHECK(FailureOf([&] { instance.BindDlpack("ids", tensor); }).text ==
        "parameter `ids`: the tensor is not on a CUDA device (DLPack type 1)");
}

/// Memory of the stand-in that need not be there, from `begin` on.
char* Place(FakeCuda& fake, uintptr_t begin, const FakeMemory& memory) {
  fake.memory[reinterpret_cast<void*>(begin)] = memory;
  return reinterpret_cast<char*>(begin);
}

TEST_CASE("a tensor lies in one allocation, or in mappings side by side") {
  FakeCuda& fake = OpenFakeCuda();
  DeviceGather gather;
  Instance instance(gather.program);
  const auto bind = [&](void* data, int64_t batch) {
    return FailureOf([&] { instance.Bind("ids", data, ETC_I32, {batch}); });
  };
  FakeMemory plain{256, 2, 0, true};
  char* first = Place(fake, 0x10000, plain);
  Place(fake, 0x10100, plain);
  CHECK(bind(first, 64).status == ETC_OK);
  CHECK(bind(first + 252, 1).status == ETC_OK);
  // What follows is another allocation, be it there or not.
  const Failure beyond = bind(first + 252, 2);
  CHECK(beyond.status == ETC_ERROR_BIND);
  CHECK(beyond.text ==
        "parameter `ids`: the data is at 0x100fc, where its allocation has 4 bytes left, but it "
        "needs 8");
  // Virtual memory goes on from mapping to mapping, as far as there are some.
  FakeMemory mapped{128, 2, 0, false};
  char* span = Place(fake, 0x20000, mapped);
  Place(fake, 0x20080, mapped);
  CHECK(bind(span, 64).status == ETC_OK);
  mapped.ordinal = 1;
  mapped.access = 0;
  Place(fake, 0x20080, mapped);
  CHECK(bind(span, 64).text.find("memory of device 1") != std::string::npos);
  fake.memory.erase(reinterpret_cast<void*>(0x20080));
  CHECK(bind(span, 33).text.find("has 128 bytes left, but it needs 132") != std::string::npos);
  CHECK(bind(span, 32).status == ETC_OK);
  // Addresses that are reserved behind a mapping are no memory.
  mapped = {128, 2, 0, false};
  mapped.reserved = 128;
  Place(fake, 0x20000, mapped);
  CHECK(bind(span, 33).text.find("has 128 bytes left, but it needs 132") != std::string::npos);
  CHECK(bind(span, 32).status == ETC_OK);
  // A mapping does not go on into what is no mapping.
  Place(fake, 0x20080, plain);
  CHECK(bind(span, 33).status == ETC_ERROR_BIND);
  // Of a range that the driver does not give, nothing can be said.
  CHECK(FailureOf([&] {
          instance.BindWorkspace(first, 512);
        }).text.find("the workspace is at 0x10000, where its allocation has 256 bytes left") == 0);
}

TEST_CASE("memory of another device is legal where the access is enabled") {
  FakeCuda& fake = OpenFakeCuda();
  DeviceGather gather;
  Instance instance(gather.program);
  FakeMemory memory{256, 2, 1, true};
  char* data = Place(fake, 0x10000, memory);
  const auto bind = [&] { return FailureOf([&] { instance.Bind("ids", data, ETC_I32, {4}); }); };
  CHECK(bind().status == ETC_OK);
  memory.access = 0;
  Place(fake, 0x10000, memory);
  CHECK(
      bind().text ==
      "parameter `ids`: the data is at 0x10000, memory of device 1, which device 0 cannot access");
  fake.peers_can_access = true;
  CHECK(bind().text.find("access of device 0 to it is not enabled") != std::string::npos);
  fake.failures["cuPointerGetAttribute"] = 1;  // a driver that does not say
  CHECK(bind().status == ETC_OK);
  fake.failures.clear();
  // Managed and registered memory belongs to all devices.
  memory.is_managed = true;
  Place(fake, 0x10000, memory);
  CHECK(bind().status == ETC_OK);
  Place(fake, 0x10000, {256, 1, 1, false});
  CHECK(bind().status == ETC_OK);

  int64_t shape[] = {4};
  memory = {256, 2, 1, true};
  Place(fake, 0x10000, memory);
  etc_dl_tensor tensor{data, {2, 1}, 1, {0, 32, 1}, shape, nullptr, 0};
  CHECK(FailureOf([&] { instance.BindDlpack("ids", tensor); }).status == ETC_OK);
}

TEST_CASE("a workspace overlaps no tensor, whichever is bound first") {
  OpenFakeCuda();
  DeviceGather gather;
  char* memory = static_cast<char*>(gather.memory);
  for (const bool workspace_first : {true, false}) {
    Instance instance(gather.program);
    if (workspace_first) {
      instance.BindWorkspace(memory + 1024, 2048);
    }
    gather.Bind(instance, 4, 8);
    instance.BindWorkspace(memory + 1024, 2048);
    const Failure failure = FailureOf([&] { instance.Launch(); });
    CHECK(failure.status == ETC_ERROR_BIND);
    CHECK(failure.text == "parameter `table`: the data overlaps the workspace that is bound");
    instance.BindWorkspace(memory + 4096, 2048);
    instance.Launch();
    instance.Bind("ids", memory + 4096 + 2044, ETC_I32, {4});
    CHECK(FailureOf([&] { instance.Launch(); }).status == ETC_ERROR_BIND);
    instance.Bind("ids", memory + 4096 + 2048, ETC_I32, {4});
    instance.Launch();
  }
}

/// Packs `table` of this row-major shape on the device, where it must become what it becomes on the
/// host, and unpacks it again; the streams of the copies that packed it.
std::vector<void*> PackAndUnpack(FakeCuda& fake, DeviceGather& gather,
                                 const std::vector<int64_t>& shape) {
  size_t elements = 1;
  for (const int64_t extent : shape) {
    elements *= static_cast<size_t>(extent);
  }
  std::vector<float> plain(elements), packed(elements), expected(elements), back(elements);
  for (size_t i = 0; i < elements; ++i) {
    plain[i] = static_cast<float>(i);
  }
  gather.program.Pack(nullptr, "table", shape, plain.data(), expected.data());
  char* from = static_cast<char*>(gather.memory);
  char* to = from + 4096;
  const size_t bytes = elements * sizeof(float);
  REQUIRE(etc_device_copy_to(from, plain.data(), bytes) == ETC_OK);
  gather.program.PackOnDevice(nullptr, "table", shape, from, to, Stream(9));
  std::vector<void*> copies = fake.copies;
  REQUIRE(etc_device_copy_from(packed.data(), to, bytes) == ETC_OK);
  CHECK(packed == expected);

  gather.program.UnpackOnDevice(nullptr, "table", shape, to, from + 8192);
  REQUIRE(etc_device_copy_from(back.data(), from + 8192, bytes) == ETC_OK);
  CHECK(back == plain);
  return copies;
}

TEST_CASE("packing is one copy of the driver for each row of a tile") {
  FakeCuda& fake = OpenFakeCuda();
  json manifest = DeviceManifest();
  manifest["graphs"][0]["params"][1]["shape"] = {3, 4, "width"};
  manifest["graphs"][0]["params"][1]["layout"]["tile"] = {2, 4};
  DeviceGather gather(manifest);
  CHECK(PackAndUnpack(fake, gather, {3, 4, 8}) == std::vector<void*>{Stream(9), Stream(9)});

  char* from = static_cast<char*>(gather.memory);
  char* to = from + 4096;
  CHECK(FailureOf([&] {
          gather.program.PackOnDevice(nullptr, "table", {3, 4, 8}, from, from + 8);
        }).status == ETC_ERROR_ARGUMENT);
  fake.failures["cuMemcpy3DAsync_v2"] = 700;
  CHECK(FailureOf([&] {
          gather.program.PackOnDevice(nullptr, "table", {3, 4, 8}, from, to);
        }).status == ETC_ERROR_DEVICE);
}

TEST_CASE("packing swizzled tiles is one copy for each run that stays together") {
  FakeCuda& fake = OpenFakeCuda();
  json manifest = DeviceManifest();
  manifest["graphs"][0]["params"][1]["shape"] = {2, 8, "width"};
  manifest["graphs"][0]["params"][1]["layout"] = {{"tile", {8, 16}}, {"swizzle", true}};
  DeviceGather gather(manifest);
  // Two rows each of one run, of four, of two and of four.
  CHECK(PackAndUnpack(fake, gather, {2, 8, 32}) == std::vector<void*>(22, Stream(9)));
}

}  // namespace
}  // namespace etc::test
