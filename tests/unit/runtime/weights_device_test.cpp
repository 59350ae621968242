// Weights on a device: through pinned buffers, many under way at once, and all of them given back.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "etc/device.h"
#include "runtime/fake_session.h"
#include "runtime/weights/pinned_ring.h"
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

/// `table` and `tied`, [2, 4096, 2048] of bf16, in swizzled tiles: several pieces for each stream.
json LargeManifest() {
  json manifest = WeightsManifest(DeviceManifest());
  for (size_t i = 0; i < 2; ++i) {
    json& param = manifest["graphs"][0]["params"][i];
    param["shape"] = {2, 4096, 2048};
    param["dtype"] = "bf16";
    param["layout"] = {{"tile", {8, 32}}, {"swizzle", true}};
  }
  return manifest;
}

/// A program, its checkpoint, and what the threads make of it.
struct Large {
  explicit Large(const char* dtype = "BF16")
      : fake(OpenFakeCuda()),
        program(WriteArtifact(dir, LargeManifest(), "gather_small gather_large")) {
    const std::string bytes = Random(4096 * 2048 * (std::string(dtype) == "F32" ? 4 : 2));
    file = SafetensorsWriter()
               .Add("rows.0", dtype, {4096, 2048}, bytes)
               .Add("rows.1", dtype, {4096, 2048}, std::string(bytes.rbegin(), bytes.rend()))
               .File();
    etc_weights_options options{};
    options.struct_size = sizeof(options);
    options.pack_on_host = 1;
    const Loaded loaded(program, file, &options);
    REQUIRE(loaded.text == "");
    expected = There();
    REQUIRE(fake.launches.empty());
    REQUIRE(fake.libraries == 0);
  }
  static std::string Random(size_t bytes) {
    std::string text(bytes, '\0');
    uint64_t state = 1;
    for (char& byte : text) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      byte = static_cast<char>(state >> 56);
    }
    return text;
  }
  /// The only memory of the device.
  std::string There() const {
    REQUIRE(fake.allocations.size() == 1);
    const auto& [data, bytes] = *fake.allocations.begin();
    return {static_cast<const char*>(data), bytes};
  }
  void CheckNothingRemains() const {
    CHECK(fake.allocations.empty());
    CHECK(fake.libraries == 0);
    CHECK(fake.pinned == 0);
    CHECK(fake.events == 0);
    CHECK(fake.streams == 0);
  }

  FakeCuda& fake;
  TempDir dir;
  Program program;
  std::string file;
  std::string expected;
};

TEST_CASE("the device packs what threads would, whatever is late") {
  for (const char* dtype : {"BF16", "F16", "F32"}) {
    for (const size_t under_way : {0, 1, 5}) {
      CAPTURE(dtype);
      CAPTURE(under_way);
      Large large(dtype);
      large.fake.copies_under_way = under_way;
      {
        const Loaded loaded(large.program, large.file);
        REQUIRE(loaded.text == "");
        CHECK((large.There() == large.expected));
        CHECK(large.fake.launches.size() >= 8);
        CHECK(large.fake.launches[0].entry == "etc_pack_weights");
        CHECK(large.fake.libraries == 0);
      }
      large.CheckNothingRemains();
    }
  }
}

TEST_CASE("a device that copies only has no kernel") {
  DeviceProgram device;
  const Loaded loaded(device.program, TwoTensors());
  CHECK(loaded.text == "");
  CHECK(device.fake.launches.empty());
}

struct Log {
  Log() {
    etc_set_log([](void* user, etc_log_level,
                   const char* text) { static_cast<Log*>(user)->text += std::string(text) + "\n"; },
                this);
  }
  ~Log() { etc_set_log(nullptr, nullptr); }
  std::string text;
};

TEST_CASE("threads pack where the device cannot") {
  const auto check = [](Large* large, const char* reason) {
    Log log;
    {
      const Loaded loaded(large->program, large->file);
      REQUIRE(loaded.text == "");
      CHECK((large->There() == large->expected));
      CHECK(large->fake.launches.empty());
      CHECK(log.text.find("weights are packed on the host: ") != std::string::npos);
      CHECK_MESSAGE(log.text.find(reason) != std::string::npos, log.text);
    }
    large->CheckNothingRemains();
  };
  Large small;
  small.fake.capacity = small.expected.size() + (size_t{1} << 20);
  check(&small, "cuMemAlloc");
  Large without_compiler;
  without_compiler.fake.failures["cuLibraryLoadData"] = 221;
  check(&without_compiler, "cuLibraryLoadData");
}

TEST_CASE("a kernel that fails ends the load and leaves nothing") {
  Large large;
  large.fake.failures["cuLaunchKernelEx"] = 700;
  {
    const Loaded loaded(large.program, large.file);
    CHECK(loaded.status == ETC_ERROR_DEVICE);
    CHECK(loaded.text.find("cuLaunchKernelEx") != std::string::npos);
  }
  large.CheckNothingRemains();
  large.fake.failures.clear();
  large.fake.pack_result = 700;
  {
    const Loaded loaded(large.program, large.file);
    CHECK(loaded.status == ETC_ERROR_DEVICE);
    CHECK(loaded.text.find("cuStreamSynchronize") != std::string::npos);
  }
  large.CheckNothingRemains();
}

TEST_CASE("a progress function stops a load that the device packs") {
  Large large;
  etc_weights_options options{};
  options.struct_size = sizeof(options);
  options.progress = [](void*, int64_t, int64_t) -> int32_t { return 1; };
  {
    const Loaded loaded(large.program, large.file, &options);
    CHECK(loaded.status == ETC_ERROR_CANCELLED);
  }
  large.CheckNothingRemains();
}

TEST_CASE("a caller of an earlier version has no word on packing") {
  Large large;
  etc_weights_options options{};
  options.struct_size = offsetof(etc_weights_options, pack_on_host);
  options.pack_on_host = 1;  // behind the end of the caller's struct
  const Loaded loaded(large.program, large.file, &options);
  CHECK(loaded.text == "");
  CHECK_FALSE(large.fake.launches.empty());
}

/// Pieces of one parameter, each filled with bytes of its own.
struct Pieces {
  static constexpr size_t kBytes = 4096;

  explicit Pieces(size_t count) : device(count * kBytes), list(count) {
    for (size_t i = 0; i < count; ++i) {
      list[i].at = static_cast<int64_t>(i * kBytes);
      list[i].bytes = static_cast<int64_t>(kBytes);
    }
  }
  static char Mark(size_t index) { return static_cast<char>(index * 7 + 1); }
  bool Arrived() const {
    for (size_t i = 0; i < device.size(); ++i) {
      if (device[i] != Mark(i / kBytes)) {
        return false;
      }
    }
    return true;
  }

  std::vector<char> device;
  std::vector<runtime::WeightPiece> list;
};

/// Sends all pieces through a ring that other threads fill.
void Send(Pieces* pieces, size_t buffers, size_t threads) {
  const runtime::cuda::Driver* driver = nullptr;
  REQUIRE(runtime::cuda::OpenDriver(&driver).Ok());
  const std::vector<void*> memory = {pieces->device.data()};
  const runtime::WeightPlan plan;
  const runtime::DevicePacker packer(*driver, plan, memory);
  runtime::PinnedRing ring(*driver, memory, packer);
  REQUIRE(ring.Reserve(buffers, Pieces::kBytes).Ok());
  std::atomic<size_t> next{0};
  std::vector<std::thread> team;
  for (size_t i = 0; i < threads; ++i) {
    team.emplace_back([&] {
      for (size_t at = next++; at < pieces->list.size(); at = next++) {
        char* buffer = ring.Take();
        std::memset(buffer, Pieces::Mark(at), Pieces::kBytes);
        ring.Give(pieces->list[at], buffer);
      }
    });
  }
  while (ring.delivered_bytes() < static_cast<int64_t>(pieces->device.size())) {
    REQUIRE(ring.Deliver(std::chrono::milliseconds(100)).Ok());
  }
  REQUIRE(ring.WaitForCopies().Ok());
  for (std::thread& thread : team) {
    thread.join();
  }
}

TEST_CASE("a device that always has copies under way gets all of them") {
  FakeCuda& fake = OpenFakeCuda();
  fake.copies_under_way = 4;  // a fifth has to be enqueued before the first is done
  Pieces pieces(200);
  Send(&pieces, 8, 3);
  CHECK(pieces.Arrived());
  CHECK(fake.uploads == 200);
  CHECK(fake.most_under_way > 4);
  CHECK(fake.most_under_way <= 8);
  CHECK(fake.most_registered > 4);
  CHECK(fake.most_registered <= 8);
  CHECK(fake.pinned == 0);
  CHECK(fake.events == 0);
}

TEST_CASE("buffers that are not needed are never pinned") {
  FakeCuda& fake = OpenFakeCuda();
  Pieces pieces(3);
  Send(&pieces, 8, 1);
  CHECK(pieces.Arrived());
  CHECK(fake.most_registered <= 3);
}

TEST_CASE("memory that cannot be pinned is copied all the same") {
  DeviceProgram device;
  device.fake.failures["cuMemHostRegister_v2"] = 801;
  device.fake.copies_under_way = 4;
  const Loaded loaded(device.program, TwoTensors());
  REQUIRE(loaded.text == "");
  std::vector<float> there(size_t{2} * 16 * 32);
  std::memcpy(there.data(), device.fake.allocations.begin()->first, there.size() * sizeof(float));
  CHECK(there[1023] == 1511);
  CHECK(device.fake.pinned == 0);
}

TEST_CASE("a driver's failure ends the load and leaves nothing") {
  for (const char* function : {"cuMemAlloc_v2", "cuStreamCreate", "cuEventCreate",
                               "cuMemcpyHtoDAsync_v2", "cuEventQuery"}) {
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
