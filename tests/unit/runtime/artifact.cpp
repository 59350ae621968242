#include "runtime/artifact.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "runtime/hash.h"
#include "runtime/manifest_seal.h"

namespace etc::test {
namespace {

using nlohmann::json;

constexpr char kGatherText[] = R"(
#include <atomic>
#include <cstdint>

static void Gather(const uint64_t* block, int sm, int sms, float factor) {
  const int32_t* ids = reinterpret_cast<const int32_t*>(block[0]);
  const float* table = reinterpret_cast<const float*>(block[1]);
  float* out = reinterpret_cast<float*>(block[2]);
  const int64_t batch = static_cast<int64_t>(block[3]);
  const int64_t width = static_cast<int64_t>(block[4]);
  float* rows = reinterpret_cast<float*>(block[5]);
  char* events = reinterpret_cast<char*>(block[6]);
  const uint64_t epoch = *reinterpret_cast<uint32_t*>(events);
  char* set = events + 128 + (epoch & 1) * block[7] * 128;

  for (int64_t b = sm; b < batch; b += sms) {
    for (int64_t w = 0; w < width; ++w) {
      rows[b * width + w] = table[ids[b] * width + w];
    }
    std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(set + b * 128)).fetch_add(1);
  }
  for (int64_t i = sm; i < batch; i += sms) {
    const int64_t b = batch - 1 - i;
    std::atomic_ref<uint32_t> done(*reinterpret_cast<uint32_t*>(set + b * 128));
    while (done.load() != 1) {
    }
    for (int64_t w = 0; w < width; ++w) {
      out[b * width + w] = factor * rows[b * width + w];
    }
  }
}
extern "C" void gather_small(const uint64_t* block, int sm, int sms) {
  Gather(block, sm, sms, 2.0F);
}
extern "C" void gather_large(const uint64_t* block, int sm, int sms) {
  Gather(block, sm, sms, 3.0F);
}
)";

json Kernel(const char* entry, int min, int max) {
  return {{"entry", entry},
          {"schedule", "static"},
          {"where", {{{"dim", "batch"}, {"min", min}, {"max", max}}}},
          {"threads", 256},
          {"shared_bytes", 100000},
          {"workspace_bytes", {"*", {"*", "batch", "width"}, 4}},
          {"event_counters", "batch"}};
}

}  // namespace

TempDir::TempDir() {
  std::string pattern = std::filesystem::temp_directory_path() / "etc_runtime_XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("cannot make a directory " + pattern);
  }
  path_ = pattern;
}

TempDir::~TempDir() { std::filesystem::remove_all(path_); }

void TempDir::Write(const std::string& name, const std::string& bytes) const {
  std::ofstream(File(name), std::ios::binary) << bytes;
}

json GatherManifest() {
  return {{"etc_manifest", 2},
          {"features",
           {"debug_checks", "distinct", "launches", "monotone", "profile", "repeats", "swizzle",
            "tiles", "value_ranges", "watchdog", "where"}},
          {"target", "host"},
          {"binary", {{"file", "gather.so"}}},
          {"producer", {{"etc", "0.1.0"}, {"toolchain", "g++ 12"}, {"flags", {"-O1"}}}},
          {"constants", {{"rows", 10}, {"scale", 0.5}, {"fast", true}}},
          {"graphs",
           {{{"name", "gather"},
             {"dims",
              {{{"name", "batch"}, {"min", 1}, {"max", 64}, {"multiple", 1}},
               {{"name", "width"}, {"min", 4}, {"max", 1024}, {"multiple", 4}}}},
             {"params",
              {{{"name", "ids"},
                {"access", "in"},
                {"dtype", "i32"},
                {"shape", {"batch"}},
                {"alignment", 4},
                {"value_min", 0},
                {"value_max", 9}},
               {{"name", "table"},
                {"access", "in"},
                {"dtype", "f32"},
                {"shape", {10, "width"}},
                {"alignment", 16}},
               {{"name", "out"},
                {"access", "out"},
                {"dtype", "f32"},
                {"shape", json::array({json::array({"*", "batch", "width"})})},
                {"alignment", 16}}}},
             {"kernels", {Kernel("gather_small", 1, 8), Kernel("gather_large", 9, 64)}}}}}};
}

nlohmann::json DeviceManifest() {
  nlohmann::json manifest = GatherManifest();
  manifest["target"] = "sm_90a";
  manifest["binary"]["file"] = "gather.cubin";
  return manifest;
}

void AddRanks(json& manifest, const std::vector<int32_t>& ranks, const json& symmetric_bytes) {
  manifest["features"].push_back("ranks");
  json& graph = manifest["graphs"][0];
  graph["dims"].push_back(
      {{"name", "tp"}, {"min", ranks.front()}, {"max", ranks.back()}, {"multiple", 1}});
  graph["mesh"] = {{"size", "tp"}, {"values", ranks}};
  for (json& kernel : graph["kernels"]) {
    kernel["symmetric_bytes"] = symmetric_bytes;
  }
}

std::string Compile(const std::string& text) {
  const TempDir dir;
  dir.Write("text.cpp", text);
  const std::string command = std::string(ETC_TEST_CXX) + " " + ETC_TEST_CXX_FLAGS + " " +
                              dir.File("text.cpp") + " -o " + dir.File("text.so");
  if (std::system(command.c_str()) != 0) {
    throw std::runtime_error("cannot compile: " + command);
  }
  std::ifstream binary(dir.File("text.so"), std::ios::binary);
  return {std::istreambuf_iterator<char>(binary), std::istreambuf_iterator<char>()};
}

const std::string& GatherBinary() {
  static const std::string binary = Compile(kGatherText);
  return binary;
}

std::string Sealed(const json& manifest) { return runtime::SealManifest(manifest.dump(1)); }

std::string ManifestText(json manifest, const std::string& binary) {
  manifest["binary"]["bytes"] = binary.size();
  manifest["binary"]["xxh3_128"] = runtime::HashText(binary);
  return Sealed(manifest);
}

std::string WriteArtifact(const TempDir& dir, const json& manifest, const std::string& binary) {
  dir.Write(manifest["binary"]["file"].get<std::string>(), binary);
  dir.Write("gather.json", ManifestText(manifest, binary));
  return dir.File("gather.json");
}

Failure FailureOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.status(), error.what()};
  }
  return {};
}

}  // namespace etc::test
