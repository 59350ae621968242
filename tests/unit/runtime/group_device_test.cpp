// Groups on devices: where the ranks are, the memory that they reach at each other, and launches.
#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <vector>

#include "runtime/device_gather.h"

namespace etc::test {
namespace {

using nlohmann::json;

constexpr size_t kBlockWords = 15;
constexpr int64_t kTableAt = 64 * 64;
// Where these stand in the block.
constexpr size_t kEvents = 7, kSymmetric = 9, kBegun = 10, kDistances = 11, kRank = 12, kRanks = 13;

/// `gather` as a program with a mesh.
json RanksManifest() {
  json manifest = DeviceManifest();
  manifest["features"].push_back("ranks");
  json& graph = manifest["graphs"][0];
  graph["dims"].push_back({{"name", "tp"}, {"min", 1}, {"max", 4}, {"multiple", 1}});
  graph["mesh"] = {{"size", "tp"}, {"values", {1, 2, 4}}};
  for (json& kernel : graph["kernels"]) {
    kernel["symmetric_bytes"] = json::array({"*", "batch", 100});
  }
  return manifest;
}

/// Ranks on devices of the stand-in, all of them with the same tensors.
struct DeviceRanks {
  DeviceRanks(FakeCuda& fake, const std::vector<int32_t>& devices)
      : gather(RanksManifest()), group(gather.program, devices) {
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
