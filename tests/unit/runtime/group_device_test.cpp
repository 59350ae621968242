// Groups on devices: where the ranks are, the memory that they reach at each other, and launches.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "etc/device.h"
#include "runtime/connection.h"
#include "runtime/device_gather.h"

namespace etc::test {
namespace {

using nlohmann::json;
using runtime::Descriptor;
using runtime::HostAndPort;
using runtime::Listen;

constexpr size_t kBlockWords = 15;
constexpr int64_t kTableAt = 64 * 64;
// Where these stand in the block.
constexpr size_t kEvents = 7, kSymmetric = 9, kBegun = 10, kDistances = 11, kRank = 12, kRanks = 13;

/// `gather` as a program with a mesh.
json RanksManifest() {
  json manifest = DeviceManifest();
  AddRanks(manifest, {1, 2, 4}, json::array({"*", "batch", 100}));
  return manifest;
}

json WatchedManifest() {
  json manifest = RanksManifest();
  manifest["features"].push_back("watchdog");
  manifest["watchdog"] = {"@send waits on SM {} for {ranks} not begun launch {}", "@join waits"};
  return manifest;
}

/// Ranks on devices of the stand-in, all of them with the same tensors.
struct DeviceRanks {
  DeviceRanks(FakeCuda& fake, const std::vector<int32_t>& devices,
              const json& manifest = RanksManifest())
      : gather(manifest), group(gather.program, devices) {
    fake.block_words = kBlockWords;
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      ranks.push_back(group.Rank(static_cast<int32_t>(rank)));
    }
    Bind(8);
  }
  void Bind(int64_t batch) {
    for (Instance& rank : ranks) {
      gather.Bind(rank, batch, 8);
    }
  }

  DeviceGather gather;
  Group group;
  std::vector<Instance> ranks;
};

FakeCuda& OpenDevices(int devices) {
  FakeCuda& fake = OpenFakeCuda();
  fake.devices = devices;
  fake.peers_can_access = true;
  return fake;
}

TEST_CASE("a rank on each device reaches the memory of the others") {
  FakeCuda& fake = OpenDevices(2);
  DeviceRanks all(fake, {0, 1});
  CHECK(fake.accesses == std::vector<std::pair<int, int>>{{0, 1}, {1, 0}});
  all.group.Launch();
  REQUIRE(fake.launches.size() == 2);
  for (size_t rank = 0; rank < 2; ++rank) {
    const FakeLaunch& launch = fake.launches[rank];
    CHECK(launch.grid == 132);
    CHECK(launch.is_cooperative);
    REQUIRE(launch.block.size() == kBlockWords);
    CHECK(launch.block[kRank] == rank);
    CHECK(launch.block[kRanks] == 2);
    CHECK(launch.block[kDistances] == launch.block[kBegun] + kTableAt);
    const auto* distances = reinterpret_cast<const int64_t*>(launch.block[kDistances]);
    for (const size_t place : {kBegun, kEvents, kSymmetric}) {
      const uint64_t there = launch.block[place] + static_cast<uint64_t>(distances[1 - rank]);
      CHECK(there == fake.launches[1 - rank].block[place]);
    }
    CHECK(distances[rank] == 0);
  }
  CHECK(fake.context_depth == 0);
}

TEST_CASE("no rank begins where one is given a stream of another device") {
  FakeCuda& fake = OpenDevices(2);
  DeviceRanks all(fake, {0, 1});
  void* streams[2] = {};
  for (int32_t device = 0; device < 2; ++device) {
    REQUIRE(etc_device_use(device) == ETC_OK);
    REQUIRE(etc_stream_create(&streams[device]) == ETC_OK);
  }
  void* wrong[] = {streams[0], streams[0]};
  const Failure failure = FailureOf([&] { all.group.Launch(wrong); });
  CHECK(failure.status == ETC_ERROR_ARGUMENT);
  CHECK(failure.text == "rank 1: the stream is not one of device 1");
  CHECK(fake.launches.empty());
  all.group.Launch(streams);
  CHECK(fake.launches.size() == 2);
  for (void* stream : streams) {
    CHECK(etc_stream_free(stream) == ETC_OK);
  }
  CHECK(fake.context_depth == 0);
}

TEST_CASE("ranks of one device share its SMs, on streams of their own") {
  FakeCuda& fake = OpenDevices(1);
  {
    DeviceRanks all(fake, {0, 0, 0, 0});
    CHECK(fake.accesses.empty());
    all.group.Launch();
    REQUIRE(fake.launches.size() == 4);
    std::set<void*> streams;
    for (const FakeLaunch& launch : fake.launches) {
      CHECK(launch.grid == 33);
      CHECK_FALSE(launch.is_cooperative);  // one of them might wait for the other
      streams.insert(launch.stream);
    }
    CHECK(streams.size() == 4);
    CHECK(streams.count(nullptr) == 0);
    CHECK(FailureOf([&] { all.ranks[2].SetSms(34); }).text ==
          "the number of SMs is 34, but must be in 0..33");

    void* given[] = {Stream(1), Stream(2), Stream(1), Stream(3)};
    CHECK(FailureOf([&] { all.group.Launch(given); }).text ==
          "ranks 0 and 2 are on device 0, so each needs a stream of its own");
    fake.synchronized.clear();
    all.group.Synchronize();
    CHECK(std::set<void*>(fake.synchronized.begin(), fake.synchronized.end()) == streams);
  }
  CHECK(fake.streams == 0);
  CHECK(fake.allocations.empty());
}

TEST_CASE("a stream that could not be made is made by the next launch") {
  FakeCuda& fake = OpenDevices(1);
  DeviceRanks all(fake, {0, 0});
  fake.failures["cuStreamCreate"] = 2;
  CHECK(FailureOf([&] { all.group.Launch(); }).text.find("cuStreamCreate failed") !=
        std::string::npos);
  fake.failures.clear();
  all.group.Launch();
  CHECK(fake.launches.size() == 2);
}

TEST_CASE("symmetric memory grows on all ranks at once") {
  FakeCuda& fake = OpenDevices(2);
  DeviceRanks all(fake, {0, 1});
  all.group.Launch();
  const size_t allocations = fake.allocations.size();
  all.group.Launch();
  CHECK(fake.launches[2].block[kSymmetric] == fake.launches[0].block[kSymmetric]);
  all.Bind(16);
  all.group.Launch();
  CHECK(fake.launches[5].block[kRank] == 1);
  CHECK(fake.allocations.size() == allocations);
  for (const size_t launch : {size_t{4}, size_t{5}}) {
    void* begin = reinterpret_cast<void*>(fake.launches[launch].block[kBegun]);
    const uint64_t buffers = fake.launches[launch].block[kSymmetric];
    CHECK(reinterpret_cast<uint64_t>(begin) + fake.allocations.at(begin) == buffers + 16 * 100);
  }
}

TEST_CASE("a launch that was captured keeps its symmetric memory") {
  FakeCuda& fake = OpenDevices(1);
  DeviceRanks all(fake, {0, 0});
  all.group.Reserve();
  fake.capturing = {Stream(5), Stream(6)};
  void* streams[] = {Stream(5), Stream(6)};
  all.group.Launch(streams);
  void* captured = reinterpret_cast<void*>(fake.launches[0].block[kBegun]);
  fake.capturing.clear();
  all.Bind(16);
  all.group.Launch(streams);
  CHECK(fake.launches[2].block[kBegun] != fake.launches[0].block[kBegun]);
  CHECK(fake.allocations.count(captured) == 1);
}

/// What a launch that gave up a wait leaves in the event memory.
void LeaveRecord(const FakeLaunch& launch, uint32_t wait, const std::vector<int64_t>& values) {
  auto* header = reinterpret_cast<uint32_t*>(launch.block[kEvents]);
  header[0] = 3;
  header[2] = 1;
  header[3] = uint32_t{1} << 31 | wait;
  std::copy(values.begin(), values.end(), reinterpret_cast<int64_t*>(header + 4));
}

TEST_CASE("a group begins anew behind a launch that failed") {
  FakeCuda& fake = OpenDevices(1);
  DeviceRanks all(fake, {0, 0, 0, 0}, WatchedManifest());
  all.group.Launch();
  const FakeLaunch launch = fake.launches[1];
  auto* begun = reinterpret_cast<uint32_t*>(launch.block[kBegun]);
  auto* distances = reinterpret_cast<int64_t*>(launch.block[kDistances]);
  const std::vector<int64_t> table(distances, distances + 4);
  const auto fail = [&] {
    begun[0] = 7;
    std::fill_n(distances, 4, 0);
    LeaveRecord(launch, 0, {5, 0b1101, 7});
  };
  const char* text =
      "rank 1: @send waits on SM 5 for ranks 0, 2 and 3, which have not begun launch 7";
  fail();
  for (int asked = 0; asked < 2; ++asked) {
    const Failure failure = FailureOf([&] { all.group.Synchronize(); });
    CHECK(failure.status == ETC_ERROR_TIMEOUT);
    CHECK(failure.text == text);
  }
  CHECK(FailureOf([&] { all.ranks[2].Launch(); }).text ==
        "rank 2 cannot go on by itself behind a launch that failed: reserve the group");
  all.group.Launch();
  CHECK(fake.launches.back().block[kBegun] == fake.launches[3].block[kBegun]);
  CHECK(begun[0] == 0);
  CHECK(std::vector<int64_t>(distances, distances + 4) == table);
  CHECK(*reinterpret_cast<uint32_t*>(launch.block[kEvents]) == 0);
  all.group.Synchronize();

  // Memory that grows takes no failure along.
  fail();
  all.Bind(16);
  CHECK(FailureOf([&] { all.group.Reserve(); }).text == text);
  all.group.Reserve();
  all.ranks[2].Launch();

  LeaveRecord(fake.launches.back(), 1, {});
  CHECK(FailureOf([&] { all.group.Synchronize(); }).text == "rank 2: @join waits");
}

/// Runs rank 1 in a process of its own, and rank 0 here. There a check must throw to be noticed.
void RunInProcesses(const std::function<void(int32_t rank, const etc_join_options&)>& run) {
  HostAndPort at{"127.0.0.1", 0};
  Descriptor socket;
  REQUIRE(Listen(&at, &socket).Ok());
  socket = Descriptor();
  const std::string address = at.Text();
  const auto options = [&](int32_t rank) {
    etc_join_options made{};
    made.struct_size = sizeof(made);
    made.ranks = 2;
    made.rank = rank;
    made.address = address.c_str();
    made.has_device = 1;
    made.device = rank;
    return made;
  };
  const pid_t child = fork();
  if (child == 0) {
    try {
      run(1, options(1));
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  run(0, options(0));
  int code = 0;
  REQUIRE(waitpid(child, &code, 0) == child);
  CHECK(code == 0);
}

TEST_CASE("ranks with a process each reach each other's memory by its handle") {
  FakeCuda& fake = OpenDevices(2);
  DeviceGather gather(RanksManifest());
  RunInProcesses([&](int32_t rank, const etc_join_options& options) {
    Group group = Group::Join(gather.program, &options);
    fake.block_words = kBlockWords;
    REQUIRE(group.Describe().ranks == 2);
    REQUIRE(group.Describe().own_rank == rank);
    REQUIRE(group.Describe().device == rank);
    REQUIRE(FailureOf([&] { (void)group.Rank(1 - rank); }).text ==
            "rank " + std::to_string(1 - rank) + " is of another process: this one is rank " +
                std::to_string(rank));
    Instance own = group.Rank(rank);
    for (const int64_t batch : {8, 16}) {
      gather.Bind(own, batch, 8);
      group.Launch();
      const FakeLaunch& launch = fake.launches.back();
      REQUIRE(launch.block[kRank] == static_cast<uint64_t>(rank));
      REQUIRE(launch.is_cooperative);
      REQUIRE(fake.imported.size() == 1);
      const auto* distances = reinterpret_cast<const int64_t*>(launch.block[kDistances]);
      REQUIRE(distances[rank] == 0);
      REQUIRE(launch.block[kBegun] + static_cast<uint64_t>(distances[1 - rank]) ==
              reinterpret_cast<uint64_t>(*fake.imported.begin()));
      // In whole pages, of which a peer sees all.
      REQUIRE(fake.allocations.at(reinterpret_cast<void*>(launch.block[kBegun])) == 2 << 20);
    }
    group.Synchronize();
    for (const size_t bytes : {size_t{0}, size_t{3}, size_t{1} << 19, (size_t{3} << 19) + 1}) {
      const std::string own_bytes(bytes, static_cast<char>('a' + rank));
      std::string of_all(2 * bytes, ' ');
      group.Gather(own_bytes.data(), static_cast<int64_t>(bytes), of_all.data());
      REQUIRE(of_all == std::string(bytes, 'a') + std::string(bytes, 'b'));
    }
    char unused[4] = {};
    REQUIRE(FailureOf([&] { group.Gather(unused, 1 + rank, unused); }).text ==
            "rank 1 gathers 2 bytes, but rank 0 1");
  });
  CHECK(fake.launches.size() == 2);
  CHECK(fake.imported.empty());
  CHECK(fake.allocations.size() == 1);  // the tensors
}

TEST_CASE("what keeps a rank with a process of its own back is said in both") {
  FakeCuda& fake = OpenDevices(2);
  DeviceGather gather(RanksManifest());
  const auto both_fail = [&](const std::string& text,
                             const std::function<void(int32_t, const etc_join_options&)>& run) {
    RunInProcesses([&](int32_t rank, const etc_join_options& options) {
      REQUIRE(FailureOf([&] { run(rank, options); }).text == text);
    });
  };
  both_fail("rank 1: there is no device 2: the CUDA driver sees 2, counted from 0",
            [&](int32_t rank, etc_join_options options) {
              options.device = 2 * rank;
              Group::Join(gather.program, &options);
            });
  both_fail("ranks 0 and 1 are on the same device: give each its own, or say that they share it",
            [&](int32_t rank, etc_join_options options) {
              options.device = 0;
              options.has_device = rank;
              Group::Join(gather.program, &options);
            });
  const auto launch_fails = [&](int32_t of, const std::string& call, int result,
                                const std::string& text) {
    both_fail(text + " failed: CUDA_ERROR_FAKE (as the test wants it)",
              [&](int32_t rank, const etc_join_options& options) {
                Group group = Group::Join(gather.program, &options);
                Instance own = group.Rank(rank);
                gather.Bind(own, 8, 8);
                if (rank == of) {
                  fake.failures[call] = result;
                }
                group.Launch();
              });
  };
  launch_fails(1, "cuMemAlloc_v2", 2, "rank 1: cannot allocate 2097152 bytes: cuMemAlloc");
  launch_fails(0, "cuIpcOpenMemHandle_v2", 1,
               "rank 0: cannot reach the memory of rank 1: cuIpcOpenMemHandle");
  CHECK(fake.launches.empty());
  fake.failures.clear();
}

TEST_CASE("what keeps ranks from their devices names the rank") {
  FakeCuda& fake = OpenDevices(2);
  const DeviceGather gather(RanksManifest());
  const auto failure = [&](const std::vector<int32_t>& devices) {
    return FailureOf([&] { const Group group(gather.program, devices); }).text;
  };
  CHECK(failure({0, 2}) == "rank 1: there is no device 2: the CUDA driver sees 2, counted from 0");
  CHECK(failure({0, 1, 0}) == "graph `gather` is not for 3 ranks, only for: 1, 2, 4");
  fake.peers_can_access = false;
  CHECK(failure({0, 1}) == "rank 0: device 0 cannot reach the memory of device 1");
  fake.peers_can_access = true;
  fake.sms = 3;
  CHECK(failure({0, 0, 0, 0}) == "rank 0: device 0 has 3 SMs for 4 ranks");
  fake.sms = 132;

  DeviceRanks all(fake, {0, 1});
  fake.failures["cuMemAlloc_v2"] = 2;
  CHECK(FailureOf([&] { all.group.Launch(); }).text.rfind("rank 0: cannot allocate ", 0) == 0);
  CHECK(fake.launches.empty());
}

}  // namespace
}  // namespace etc::test
