// Programs whose kernel is a list of launches.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "etc/device.h"
#include "runtime/artifact.h"

namespace etc::test {

using nlohmann::json;

inline json Launch(const char* entry, json tasks) {
  return {{"entry", entry}, {"tasks", std::move(tasks)}};
}
inline json Repeat(int begin, int end, json launches) {
  return {{"repeat", {begin, end}}, {"launches", std::move(launches)}};
}

/// `gather` with one kernel that is these launches.
inline json ListManifest(json launches) {
  json manifest = GatherManifest();
  json kernel = manifest["graphs"][0]["kernels"][0];
  kernel.erase("entry");
  kernel["schedule"] = "kernels";
  kernel["where"] = json::array();
  kernel["event_counters"] = 0;
  kernel["launches"] = std::move(launches);
  manifest["features"].push_back("repeats_of_sizes");
  manifest["graphs"][0]["kernels"] = {kernel};
  return manifest;
}

/// Such a program for a GPU, on the stand-in for the driver.
struct ListRun {
  explicit ListRun(const json& launches) {
    json manifest = ListManifest(launches);
    manifest["target"] = "sm_90a";
    manifest["binary"]["file"] = "gather.cubin";
    path = WriteArtifact(dir, manifest, "load step inner empty store");
    ThrowUnlessOk(etc_device_alloc(1 << 16, &memory));
  }
  ~ListRun() { etc_device_free(memory); }
  void Bind(Instance& instance) {
    char* bytes = static_cast<char*>(memory);
    instance.Bind("ids", bytes, ETC_I32, {3});
    instance.Bind("table", bytes + 1024, ETC_F32, {10, 8});
    instance.Bind("out", bytes + 8192, ETC_F32, {24});
  }
  TempDir dir;
  std::string path;
  void* memory = nullptr;
};

}  // namespace etc::test
