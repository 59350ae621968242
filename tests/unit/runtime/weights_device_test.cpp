// Weights on a device: through pinned buffers, many under way at once, and all of them given back.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "etc/device.h"
#include "runtime/fake_session.h"
#include "runtime/handles.h"
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

/// As etc_weights_load does it, through buffers of any size.
struct LoadedThrough {
  LoadedThrough(const Program& program, const std::string& file, int64_t buffer_bytes,
                size_t threads, bool pack_on_host = false, size_t cut_to = SIZE_MAX) {
    const TempDir dir;
    dir.Write("model.safetensors", file);
    const std::string path = dir.File("model.safetensors");
    runtime::Checkpoint checkpoint;
    status = checkpoint.Open(path);
    if (status.Ok()) {
      std::filesystem::resize_file(path, std::min(file.size(), cut_to));
      runtime::LoadOptions options;
      options.upload.buffer_bytes = buffer_bytes;
      options.upload.threads = threads;
      options.upload.pack_on_host = pack_on_host;
      status =
          runtime::Weights::Load(program.get()->program, nullptr, checkpoint, options, &weights);
    }
  }
  runtime::Status status;
  std::unique_ptr<runtime::Weights> weights;
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
  const std::string file = SafetensorsWriter()
                               .Add("rows.0", "BF16", {4096, 2048}, first)
                               .Add("rows.1", "BF16", {4096, 2048}, second)
                               .File();
  std::vector<uint16_t> packed(plain.size());
  program.Pack(nullptr, "table", {2, 4096, 2048}, plain.data(), packed.data());
  const auto is_there = [&] {
    REQUIRE(fake.allocations.size() == 1);
    return std::memcmp(fake.allocations.begin()->first, packed.data(), packed.size() * 2) == 0;
  };
  {
    const Loaded loaded(program, file);
    REQUIRE(loaded.text == "");
    CHECK(is_there());
  }
  for (const bool on_host : {false, true}) {
    for (const int64_t buffer : {1, 100'000, 5'000'000}) {
      CAPTURE(on_host);
      CAPTURE(buffer);
      const LoadedThrough loaded(program, file, buffer, 5, on_host);
      REQUIRE_MESSAGE(loaded.status.Ok(), loaded.status.message);
      CHECK(is_there());
    }
  }
}

/// `table` of `count` tensors [3, 5] in f32, and the same again.
json SmallTensorsManifest(size_t count) {
  json manifest = WeightsManifest(DeviceManifest());
  for (size_t i = 0; i < 2; ++i) {
    manifest["graphs"][0]["params"][i]["shape"] = {count, 3, 5};
  }
  return manifest;
}

TEST_CASE("tensors of one parameter are copied at once, but those of each dtype by themselves") {
  FakeCuda& fake = OpenFakeCuda();
  const TempDir dir;
  constexpr size_t kTensors = 300;
  const Program program(
      WriteArtifact(dir, SmallTensorsManifest(kTensors), "gather_small gather_large"));
  for (const bool mixed : {false, true}) {
    fake.uploads = 0;
    SafetensorsWriter writer;
    std::vector<float> expected;
    for (size_t i = 0; i < kTensors; ++i) {
      const std::string name = "rows." + std::to_string(i);
      const bool is_short = mixed && i >= 100 && i < 200;
      if (is_short) {
        writer.Add(name, "BF16", {3, 5},
                   std::vector<uint16_t>(15, static_cast<uint16_t>(16256 + i)));
      } else {
        writer.Add(name, "F32", {3, 5}, std::vector<float>(15, static_cast<float>(i)));
      }
      const auto bits = static_cast<uint32_t>(16256 + i) << 16;
      float value = static_cast<float>(i);
      if (is_short) {
        std::memcpy(&value, &bits, sizeof(value));
      }
      expected.insert(expected.end(), 15, value);
    }
    const Loaded loaded(program, writer.File());
    REQUIRE(loaded.text == "");
    REQUIRE(fake.allocations.size() == 1);
    const auto& [data, bytes] = *fake.allocations.begin();
    REQUIRE(bytes == expected.size() * sizeof(float));
    CHECK(std::memcmp(data, expected.data(), bytes) == 0);
    CHECK(fake.uploads == (mixed ? 3 : 1));
    CHECK(fake.launches.size() == (mixed ? 1 : 0));
  }
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
    Large large(dtype);
    {
      const Loaded loaded(large.program, large.file);
      REQUIRE(loaded.text == "");
      CHECK((large.There() == large.expected));
    }
    for (const auto& [under_way, threads] : {std::pair{0, 4}, {1, 16}, {3, 1}, {3, 16}}) {
      CAPTURE(dtype);
      CAPTURE(under_way);
      CAPTURE(threads);
      large.fake.copies_under_way = static_cast<size_t>(under_way);
      large.fake.launches.clear();
      {
        const LoadedThrough loaded(large.program, large.file, 3'000'000,
                                   static_cast<size_t>(threads));
        REQUIRE_MESSAGE(loaded.status.Ok(), loaded.status.message);
        CHECK((large.There() == large.expected));
        CHECK(large.fake.launches.size() >= 12);
        CHECK(large.fake.launches[0].entry == "etc_pack_weights");
        CHECK(large.fake.libraries == 0);
      }
      large.CheckNothingRemains();
    }
  }
}

TEST_CASE("a failure in the middle ends a load whose threads wait for room, and leaves nothing") {
  Large large;
  large.fake.copies_under_way = 3;
  for (const size_t threads : {1, 16}) {
    for (const bool on_host : {false, true}) {
      CAPTURE(threads);
      CAPTURE(on_host);
      const LoadedThrough cut(large.program, large.file, 1'000'000, threads, on_host,
                              large.file.size() / 2);
      CHECK(cut.status.code == ETC_ERROR_FILE);
      CHECK(cut.status.message.find("it was cut to") != std::string::npos);
      large.CheckNothingRemains();
      for (const char* function : {"cuMemcpyHtoDAsync_v2", "cuEventQuery", "cuEventCreate"}) {
        CAPTURE(function);
        large.fake.failures[function] = 2;
        const LoadedThrough failed(large.program, large.file, 1'000'000, threads, on_host);
        CHECK_FALSE(failed.status.Ok());
        CHECK(failed.status.message.find(std::string(function, 8)) != std::string::npos);
        large.CheckNothingRemains();
        large.fake.failures.clear();
      }
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

TEST_CASE("memory that cannot be pinned is copied all the same") {
  DeviceProgram device;
  device.fake.failures["cuMemHostRegister_v2"] = 801;
  device.fake.copies_under_way = 3;
  const Loaded loaded(device.program, TwoTensors());
  REQUIRE(loaded.text == "");
  std::vector<float> there(size_t{2} * 16 * 32);
  std::memcpy(there.data(), device.fake.allocations.begin()->first, there.size() * sizeof(float));
  CHECK(there[1023] == 1511);
  CHECK(device.fake.pinned == 0);
}

TEST_CASE("all buffers may be ones that cannot be pinned") {
  Large large;
  large.fake.failures["cuMemHostRegister_v2"] = 801;
  large.fake.copies_under_way = 3;
  const LoadedThrough loaded(large.program, large.file, 1'000'000, 4);
  REQUIRE_MESSAGE(loaded.status.Ok(), loaded.status.message);
  CHECK((large.There() == large.expected));
  CHECK(large.fake.pinned == 0);
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
