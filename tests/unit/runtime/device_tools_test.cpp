#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "etc/device.h"
#include "runtime/fake_session.h"

namespace etc::test {
namespace {

TEST_CASE("the device is described") {
  OpenFakeCuda();
  CHECK(etc_device_available() == ETC_OK);
  etc_device_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(etc_device_describe(&info) == ETC_OK);
  CHECK(std::string(info.name) == "Fake");
  CHECK(std::string(info.arch) == "sm_90");
  CHECK(info.sms == 132);
  CHECK(info.driver_version == 13000);
  CHECK(info.memory_bytes == int64_t{1} << 37);
  CHECK(etc_device_describe(nullptr) == ETC_ERROR_ARGUMENT);
}

TEST_CASE("memory goes there and back") {
  FakeCuda& fake = OpenFakeCuda();
  const std::array<char, 4> sent = {1, 2, 3, 4};
  std::array<char, 4> received = {};
  void* data = nullptr;
  REQUIRE(etc_device_alloc(4, &data) == ETC_OK);
  CHECK(etc_device_copy_to(data, sent.data(), 4) == ETC_OK);
  CHECK(etc_device_fill(static_cast<char*>(data) + 3, 9, 1, nullptr) == ETC_OK);
  CHECK(etc_device_copy(static_cast<char*>(data) + 1, data, 2, nullptr) == ETC_OK);
  CHECK(etc_device_copy_from(received.data(), data, 4) == ETC_OK);
  CHECK(received == std::array<char, 4>{1, 1, 2, 9});
  CHECK(etc_device_free(data) == ETC_OK);
  CHECK(etc_device_free(nullptr) == ETC_OK);
  CHECK(fake.allocations.empty());
}

TEST_CASE("memory comes from the caller's functions, and goes back to those it came from") {
  struct Held {
    int64_t bytes = 0;
    int blocks = 0;
    bool gives = true;
  };
  FakeCuda& fake = OpenFakeCuda();
  Held first;
  Held second;
  etc_allocator allocator{sizeof(etc_allocator), &first,
                          [](void* user, int64_t bytes, int32_t device, void* stream) -> void* {
                            auto& held = *static_cast<Held*>(user);
                            CHECK(device == 0);
                            CHECK(stream == nullptr);
                            held.bytes += bytes;
                            held.blocks += 1;
                            return held.gives ? std::aligned_alloc(256, 256) : nullptr;
                          },
                          [](void* user, void* data, int64_t bytes, int32_t device) {
                            auto& held = *static_cast<Held*>(user);
                            CHECK(device == 0);
                            held.bytes -= bytes;
                            held.blocks -= 1;
                            std::free(data);
                          }};
  void* own = nullptr;
  REQUIRE(etc_device_alloc(8, &own) == ETC_OK);
  REQUIRE(etc_set_allocator(&allocator) == ETC_OK);
  void* given = nullptr;
  REQUIRE(etc_device_alloc(100, &given) == ETC_OK);
  CHECK(first.bytes == 100);
  CHECK(fake.allocations.size() == 1);
  allocator.user = &second;
  REQUIRE(etc_set_allocator(&allocator) == ETC_OK);
  void* nothing = nullptr;
  REQUIRE(etc_device_alloc(0, &nothing) == ETC_OK);
  CHECK(second.bytes == 1);
  second.gives = false;
  void* refused = nullptr;
  CHECK(etc_device_alloc(4, &refused) == ETC_ERROR_OUT_OF_MEMORY);
  CHECK(std::string(etc_last_error()) == "the caller's allocator gives no 4 bytes");
  REQUIRE(etc_set_allocator(nullptr) == ETC_OK);
  CHECK(etc_device_free(own) == ETC_OK);
  CHECK(etc_device_free(given) == ETC_OK);
  CHECK(first.blocks == 0);
  CHECK(first.bytes == 0);
  CHECK(fake.allocations.empty());
  // What fails in front of the release does not keep the memory from going back.
  fake.failures["cuCtxSynchronize"] = 700;
  CHECK(etc_device_free(nothing) == ETC_ERROR_DEVICE);
  CHECK(second.bytes == 4);  // of the call that gave nothing
}

TEST_CASE("sizes of nothing, of less, and of too much") {
  FakeCuda& fake = OpenFakeCuda();
  void* data = nullptr;
  CHECK(etc_device_copy_to(nullptr, nullptr, 0) == ETC_OK);
  CHECK(etc_device_copy_from(nullptr, nullptr, 0) == ETC_OK);
  CHECK(etc_device_copy_to(nullptr, nullptr, 4) == ETC_ERROR_ARGUMENT);
  CHECK(etc_device_copy_from(nullptr, nullptr, 4) == ETC_ERROR_ARGUMENT);
  CHECK(etc_device_fill(nullptr, 0, 4, nullptr) == ETC_ERROR_ARGUMENT);
  CHECK(etc_device_copy(nullptr, nullptr, 0, nullptr) == ETC_OK);
  CHECK(etc_device_copy(nullptr, nullptr, 4, nullptr) == ETC_ERROR_ARGUMENT);
  CHECK(etc_device_alloc(-1, &data) == ETC_ERROR_ARGUMENT);
  CHECK(std::string(etc_last_error()) == "the size is -1 bytes");
  fake.failures["cuMemAlloc_v2"] = 2;
  CHECK(etc_device_alloc(4, &data) == ETC_ERROR_OUT_OF_MEMORY);
}

TEST_CASE("a fault of an earlier launch comes out when it is waited for") {
  FakeCuda& fake = OpenFakeCuda();
  CHECK(etc_device_synchronize() == ETC_OK);
  fake.failures["cuCtxSynchronize"] = 700;
  CHECK(etc_device_synchronize() == ETC_ERROR_DEVICE);
  CHECK(std::string(etc_last_error()).find("cuCtxSynchronize failed") == 0);
}

TEST_CASE("a recording is launched as one graph, and gives everything back") {
  FakeCuda& fake = OpenFakeCuda();
  void* stream = nullptr;
  etc_recording* recording = nullptr;
  REQUIRE(etc_stream_create(&stream) == ETC_OK);
  CHECK(etc_recording_begin(stream) == ETC_OK);
  CHECK(fake.capturing.count(stream) == 1);
  REQUIRE(etc_recording_end(stream, &recording) == ETC_OK);
  CHECK(fake.capturing.empty());
  CHECK(etc_recording_launch(recording, stream) == ETC_OK);
  REQUIRE(fake.graph_launches.size() == 1);
  CHECK(fake.graph_launches[0].second == stream);
  etc_recording_free(recording);
  CHECK(fake.graphs == 0);
  CHECK(etc_recording_begin(nullptr) == ETC_ERROR_ARGUMENT);
  fake.failures["cuGraphInstantiateWithFlags"] = 1;
  CHECK(etc_recording_begin(stream) == ETC_OK);
  CHECK(etc_recording_end(stream, &recording) == ETC_ERROR_DEVICE);
  CHECK(fake.graphs == 0);
  CHECK(etc_stream_free(stream) == ETC_OK);
  CHECK(etc_stream_free(nullptr) == ETC_OK);
  CHECK(fake.streams == 0);
}

TEST_CASE("streams of two devices are recorded at once, and launched from anywhere") {
  FakeCuda& fake = OpenFakeCuda();
  fake.devices = 2;
  void* streams[2] = {};
  etc_recording* recordings[2] = {};
  for (int32_t device : {0, 1}) {
    REQUIRE(etc_device_use(device) == ETC_OK);
    REQUIRE(etc_stream_create(&streams[device]) == ETC_OK);
    REQUIRE(etc_recording_begin(streams[device]) == ETC_OK);
  }
  for (int32_t device : {0, 1}) {
    REQUIRE(etc_device_use(device) == ETC_OK);
    CHECK(etc_recording_end(streams[device], &recordings[device]) == ETC_OK);
  }
  CHECK(fake.capture_mode == 0);
  for (int32_t device : {0, 1}) {
    CHECK(etc_recording_launch(recordings[device], streams[device]) == ETC_OK);
    etc_recording_free(recordings[device]);
  }
  CHECK(fake.graphs == 0);
  CHECK(fake.graph_launches.size() == 2);

  REQUIRE(etc_recording_begin(streams[1]) == ETC_OK);
  fake.failures["cuGraphInstantiateWithFlags"] = 1;
  CHECK(etc_recording_end(streams[1], &recordings[1]) == ETC_ERROR_DEVICE);
  CHECK(std::string(etc_last_error()) ==
        "the recording on device 1: cuGraphInstantiate failed: CUDA_ERROR_FAKE (as the test wants "
        "it)");
  for (int32_t device : {0, 1}) {
    CHECK(etc_stream_free(streams[device]) == ETC_OK);
  }
  REQUIRE(etc_device_use(0) == ETC_OK);
}

TEST_CASE("timers give the time and their events back") {
  FakeCuda& fake = OpenFakeCuda();
  etc_timer* timer = nullptr;
  REQUIRE(etc_timer_create(&timer) == ETC_OK);
  double milliseconds = 0;
  CHECK(etc_timer_start(timer, nullptr) == ETC_OK);
  CHECK(etc_timer_stop(timer, nullptr) == ETC_OK);
  CHECK(etc_timer_elapsed_ms(timer, &milliseconds) == ETC_OK);
  CHECK(milliseconds == 1.5);
  etc_timer_free(timer);
  CHECK(fake.events == 0);
  fake.failures["cuEventCreate"] = 1;
  CHECK(etc_timer_create(&timer) == ETC_ERROR_DEVICE);
  CHECK(fake.events == 0);
}

TEST_CASE("a device whose context could not be made current once is tried anew") {
  FakeCuda& fake = OpenFakeCuda();
  fake.devices = 8;
  fake.failures["cuDevicePrimaryCtxRetain"] = 2;
  CHECK(etc_device_use(7) == ETC_ERROR_OUT_OF_MEMORY);
  fake.failures.clear();
  CHECK(etc_device_use(7) == ETC_OK);
  CHECK(fake.primaries == 1);
  CHECK(etc_device_use(0) == ETC_OK);
}

}  // namespace
}  // namespace etc::test
