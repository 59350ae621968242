// A stand-in for libcuda.so.1: it answers the calls of the runtime from host memory and records
// what was asked.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace etc::test {

struct FakeLaunch {
  std::string entry;
  unsigned grid = 0;
  unsigned threads = 0;
  unsigned shared_bytes = 0;
  bool is_cooperative = false;
  bool is_overlapping = false;
  void* stream = nullptr;
  std::vector<uint64_t> block;

  bool operator==(const FakeLaunch&) const = default;
};

struct FakeMemset {
  void* data = nullptr;
  unsigned char value = 0;
  size_t bytes = 0;
  void* stream = nullptr;
};

struct FakeTensorMap {
  uint64_t data = 0;
  int type = 0;
  int swizzle = 0;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> strides;
  std::vector<uint32_t> box;
};

/// A copy from the host, or a kernel that packs weights, that was enqueued.
struct FakeWork {
  void* stream = nullptr;
  size_t number = 0;  // of all work
  bool is_copy = false;
  std::function<void()> run;
};

/// Memory that is there without an allocation of the test's.
struct FakeMemory {
  size_t bytes = 0;
  int type = 2;  // 1: of the host, 2: of a device
  int ordinal = 0;
  bool is_legacy = false;  // of cuMemAlloc
  bool is_managed = false;
  int access = 3;       // of the current device
  size_t reserved = 0;  // addresses behind a mapping that cuMemAddressReserve gave with its own
};

struct FakeCuda {
  // What the device is like.
  int major = 9;
  int minor = 0;
  int sms = 132;
  int max_shared = 232448;
  int resident_blocks = 1;
  size_t block_words = 8;  // of every kernel

  std::map<void*, FakeMemory> memory;
  bool peers_can_access = false;
  int devices = 1;

  // What is to happen.
  size_t copies_under_way = 0;  // from pinned memory, until somebody waits: as a device has them
  size_t capacity = SIZE_MAX;   // bytes of the device's memory
  int pack_result = 0;          // of waiting for the last kernel, one that packs
  std::set<void*> capturing;
  std::map<void*, int> device_of;       // of streams that were made
  std::map<std::string, int> failures;  // the result of a function that is to fail

  // What has happened.
  size_t uploads = 0;  // asynchronous copies from the host
  size_t enqueued = 0;
  std::deque<FakeWork> under_way;
  size_t most_under_way = 0;
  std::map<void*, size_t> registered;
  size_t most_registered = 0;
  std::map<void*, size_t> allocations;
  std::multiset<void*> imported;  // of other processes
  std::vector<FakeLaunch> launches;
  std::vector<FakeTensorMap> tensor_maps;  // a map is its number, from 1
  std::vector<FakeMemset> memsets;
  std::vector<void*> copies;  // the stream of each copy within the device
  std::vector<void*> synchronized;
  int libraries = 0;
  std::vector<std::pair<void*, void*>> graph_launches;  // the graph and the stream of each
  std::vector<std::vector<FakeLaunch>> replays;  // of each start of a graph that was made of nodes
  int node_updates = 0;
  int capture_mode = 0;  // of the thread
  int graphs = 0;
  int streams = 0;
  int pinned = 0;  // allocations of the host
  int events = 0;
  int primaries = 0;
  std::vector<std::pair<int, int>> accesses;  // a device, and the peer whose memory it may reach
  int context_depth = 0;
  void* current = nullptr;
};

}  // namespace etc::test

extern "C" etc::test::FakeCuda* etc_fake_cuda();
