#include "etc/device.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/device_gather.h"

namespace etc::test {
namespace {

using nlohmann::json;

constexpr int64_t kEventBytes = 128;

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

  fake.failures["cuMemAlloc_v2"] = 900;  // as captures in the global mode have it
  CHECK(FailureOf([&] { instance.Reserve(); }).status == ETC_ERROR_CAPTURE);
  fake.failures.clear();
  instance.Reserve();
  CHECK(fake.synchronized == std::vector<void*>{nullptr});
  instance.Reserve();  // with enough there is nothing to wait for, and so nothing that a capture
                       // forbids
  CHECK(fake.synchronized.size() == 1);
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
    fake.failures = {{"cuLibraryLoadData", 2}};
    CHECK(FailureOf([&] { const Instance instance(gather.program); }).status ==
          ETC_ERROR_OUT_OF_MEMORY);
    fake.failures = {{"cuLibraryGetKernel", 700}};
    const Failure entry = FailureOf([&] { const Instance instance(gather.program); });
    CHECK(entry.status == ETC_ERROR_DEVICE);
    CHECK(entry.text == "entry `gather_small` of binary `" + gather.dir.File("gather.cubin") +
                            "`: cuLibraryGetKernel failed: CUDA_ERROR_FAKE (as the test wants it)");
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

TEST_CASE("memory that cannot be given back is told to the log") {
  FakeCuda& fake = OpenFakeCuda();
  std::vector<std::string> lines;
  DeviceGather gather;
  {
    Instance instance(gather.program);
    gather.Bind(instance, 4, 8);
    instance.Launch();
    fake.failures["cuMemFree_v2"] = 700;
    etc_set_log(
        [](void* user, etc_log_level, const char* text) {
          static_cast<std::vector<std::string>*>(user)->emplace_back(text);
        },
        &lines);
  }
  etc_set_log(nullptr, nullptr);
  const std::string line =
      "goes on behind a failure: cuMemFree failed: CUDA_ERROR_FAKE (as the test wants it)";
  CHECK(std::count(lines.begin(), lines.end(), line) == 2);  // the workspace and the events
  for (const auto& [data, bytes] : fake.allocations) {
    std::free(data);  // as the end of a context does
  }
  fake = {};
}

TEST_CASE("an entry that the cubin lacks") {
  OpenFakeCuda();
  json manifest = DeviceManifest();
  manifest["graphs"][0]["kernels"][0]["entry"] = "scatter";
  DeviceGather gather(manifest);
  CHECK(FailureOf([&] { const Instance instance(gather.program); }).text ==
        "binary `" + gather.dir.File("gather.cubin") + "` has no entry `scatter`");
}

}  // namespace
}  // namespace etc::test
