// Weights on a device: through pinned buffers, and all of them given back.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "etc/device.h"
#include "runtime/fake_session.h"
#include "runtime/weights_manifest.h"

namespace etc::test {
namespace {

using nlohmann::json;

struct DeviceProgram {
  DeviceProgram()
      : fake(OpenFakeCuda()),
        program(
            WriteArtifact(dir, WeightsManifest(DeviceManifest()), "gather_small gather_large")) {}
  FakeCuda& fake;
  TempDir dir;
  Program program;
};

TEST_CASE("weights arrive in device memory, and nothing of the way remains") {
  DeviceProgram device;
  {
    const Loaded loaded(device.program, TwoTensors());
    REQUIRE(loaded.text == "");
    REQUIRE(device.fake.allocations.size() == 1);
    std::vector<float> there(size_t{2} * 16 * 32);
    std::memcpy(there.data(), device.fake.allocations.begin()->first, there.size() * sizeof(float));
    CHECK(there[0] == 0);
    CHECK(there[511] == 511);
    CHECK(there[512] == 1000);
    CHECK(there[1023] == 1511);
    CHECK(device.fake.pinned == 0);
    CHECK(device.fake.events == 0);
    CHECK(device.fake.streams == 0);
    Instance instance(device.program);
    CHECK(etc_instance_bind_weights(instance.get(), loaded.weights) == ETC_OK);
  }
  CHECK(device.fake.allocations.empty());
}

TEST_CASE("a parameter of many pieces arrives whole") {
  FakeCuda& fake = OpenFakeCuda();
  const TempDir dir;
  json manifest = WeightsManifest(DeviceManifest());
  for (size_t i = 0; i < 2; ++i) {
    json& param = manifest["graphs"][0]["params"][i];
    param["shape"] = {2, 4096, 2048};
    param["dtype"] = "bf16";
    param["layout"] = {{"tile", {8, 32}}};
  }
  const Program program(WriteArtifact(dir, manifest, "gather_small gather_large"));
  std::vector<uint16_t> plain(size_t{2} * 4096 * 2048);
  for (size_t i = 0; i < plain.size(); ++i) {
    plain[i] = static_cast<uint16_t>(i * 40503 >> 4);
  }
  const auto half = static_cast<std::ptrdiff_t>(plain.size() / 2);
  const std::vector<uint16_t> first(plain.begin(), plain.begin() + half);
  const std::vector<uint16_t> second(plain.begin() + half, plain.end());
  const Loaded loaded(program, SafetensorsWriter()
                                   .Add("rows.0", "BF16", {4096, 2048}, first)
                                   .Add("rows.1", "BF16", {4096, 2048}, second)
                                   .File());
  REQUIRE(loaded.text == "");
  std::vector<uint16_t> packed(plain.size());
  program.Pack(nullptr, "table", {2, 4096, 2048}, plain.data(), packed.data());
  REQUIRE(fake.allocations.size() == 1);
  CHECK(std::memcmp(fake.allocations.begin()->first, packed.data(), packed.size() * 2) == 0);
}

TEST_CASE("a driver's failure ends the load and leaves nothing") {
  for (const char* function : {"cuMemAlloc_v2", "cuMemHostAlloc", "cuStreamCreate", "cuEventCreate",
                               "cuMemcpyHtoDAsync_v2"}) {
    DeviceProgram device;
    device.fake.failures[function] = 2;
    const Loaded loaded(device.program, TwoTensors());
    CHECK(loaded.status != ETC_OK);
    CHECK(loaded.weights == nullptr);
    CHECK(device.fake.allocations.empty());
    CHECK(device.fake.pinned == 0);
    CHECK(device.fake.events == 0);
    CHECK(device.fake.streams == 0);
  }
}

}  // namespace
}  // namespace etc::test
