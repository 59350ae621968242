// Memory that a caller binds: where the device reaches it, what may overlap, and packing.
#include <doctest/doctest.h>

#include <vector>

#include "runtime/device_gather.h"

namespace etc::test {
namespace {

using nlohmann::json;

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
  // So it is of a mapping; but there a driver may not say so.
  memory.is_legacy = false;
  Place(fake, 0x10000, memory);
  CHECK(bind().text.find("access of device 0 to it is not enabled") != std::string::npos);
  fake.failures["cuPointerGetAttribute"] = 1;
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
