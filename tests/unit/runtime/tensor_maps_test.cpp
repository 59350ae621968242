// Tensor maps of a kernel, at the beginning of its launch block.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "runtime/cuda_driver.h"
#include "runtime/device_gather.h"
#include "runtime/fault_table.h"

namespace etc::test {
namespace {

using nlohmann::json;

const char* const kMaps = "/graphs/0/kernels/1/tensor_maps";

json MapOfTable() {
  return {{"param", "table"}, {"dtype", "f32"}, {"shape", {1, 10, "width"}}, {"box", {8, 32}}};
}

json MapOfWorkspace() {
  return {{"workspace", {"*", "width", 4}},
          {"dtype", "bf16"},
          {"shape", {"batch", 3, {"*", "width", 2}}},
          {"box", {256, 32}}};
}

/// Rows of tiles of 8 x 32 elements of two bytes, as words.
json MapOfTiles() {
  return {{"param", "table"},
          {"dtype", "i64"},
          {"shape", {2, 3, {"*", "width", 2}}},
          {"box", {2, 128}}};
}

json Manifest(const json& maps) {
  json manifest = DeviceManifest();
  manifest["features"].push_back("tensor_maps");
  manifest[json::json_pointer(kMaps)] = maps;
  return manifest;
}

TEST_CASE("the launch block begins with the tensor maps, and is a multiple of their alignment") {
  FakeCuda& fake = OpenFakeCuda();
  fake.block_words = 40;
  DeviceGather gather(Manifest(json::array({MapOfTable(), MapOfWorkspace()})));
  Instance instance(gather.program);
  gather.Bind(instance, 16, 8);
  instance.Launch(Stream(7));
  REQUIRE(fake.launches.size() == 1);
  const std::vector<uint64_t>& block = fake.launches[0].block;
  const auto address = reinterpret_cast<uint64_t>(gather.memory);
  const uint64_t workspace = block[32 + 5];
  CHECK(block[32] == address);
  CHECK(block[32 + 7] == 16);

  REQUIRE(fake.tensor_maps.size() == 2);
  const FakeTensorMap& table = fake.tensor_maps[0];
  CHECK(block[0] == 1);  // the stand-in's maps are their numbers
  CHECK(block[16] == 2);
  CHECK(table.data == address + 1024);
  CHECK(table.type == runtime::cuda::kMap32Bits);
  CHECK(table.swizzle == runtime::cuda::kMapSwizzle128);
  CHECK(table.shape == std::vector<uint64_t>{8, 10, 1});
  CHECK(table.strides == std::vector<uint64_t>{32, 320});
  CHECK(table.box == std::vector<uint32_t>{32, 8, 1});
  const FakeTensorMap& partials = fake.tensor_maps[1];
  CHECK(partials.data == workspace + 8 * 4);
  CHECK(partials.type == runtime::cuda::kMap16Bits);
  CHECK(partials.swizzle == runtime::cuda::kMapSwizzle64);
  CHECK(partials.shape == std::vector<uint64_t>{16, 3, 16});
  CHECK(partials.strides == std::vector<uint64_t>{32, 96});
  CHECK(partials.box == std::vector<uint32_t>{32, 256, 1});

  // Maps are made anew when a binding changes.
  instance.Launch(Stream(7));
  CHECK(fake.tensor_maps.size() == 2);
  instance.Bind("table", static_cast<char*>(gather.memory) + 4096, ETC_F32, {10, 8});
  instance.Launch(Stream(7));
  REQUIRE(fake.tensor_maps.size() == 4);
  CHECK(fake.tensor_maps[2].data == address + 4096);
}

TEST_CASE("rows of tiles are not swizzled") {
  FakeCuda& fake = OpenFakeCuda();
  fake.block_words = 24;
  json manifest = Manifest(json::array({MapOfTiles()}));
  manifest["features"].push_back("boxes_of_tiles");
  DeviceGather gather(manifest);
  Instance instance(gather.program);
  gather.Bind(instance, 16, 8);
  instance.Launch(Stream(7));
  REQUIRE(fake.tensor_maps.size() == 1);
  const FakeTensorMap& tiles = fake.tensor_maps[0];
  CHECK(tiles.type == runtime::cuda::kMap64Bits);
  CHECK(tiles.swizzle == runtime::cuda::kMapNoSwizzle);
  CHECK(tiles.shape == std::vector<uint64_t>{16, 3, 2});
  CHECK(tiles.strides == std::vector<uint64_t>{128, 384});
  CHECK(tiles.box == std::vector<uint32_t>{128, 2, 1});
}

TEST_CASE("a tensor that the driver takes no map of is named") {
  FakeCuda& fake = OpenFakeCuda();
  DeviceGather gather(Manifest(json::array({MapOfTable()})));
  Instance instance(gather.program);
  gather.Bind(instance, 16, 8);
  fake.failures["cuTensorMapEncodeTiled"] = 1;
  const Failure failure = FailureOf([&] { instance.Launch(Stream(7)); });
  CHECK(failure.text.find("a tensor map of 1 x 10 x 8 elements") != std::string::npos);
  CHECK(fake.launches.empty());
}

TEST_CASE("faults of tensor maps") {
  TempDir dir;
  const auto load = [&](const json& manifest) {
    return FailureOf([&] { Program program(WriteArtifact(dir, manifest, "gather_large")); }).status;
  };
  const auto with = [&](const char* key, const json& value) {
    return [=] {
      json map = MapOfTable();
      map[key] = value;
      return load(Manifest(json::array({map})));
    };
  };
  const auto without = [&](const char* key) {
    return [=] {
      json map = MapOfTable();
      map.erase(key);
      return load(Manifest(json::array({map})));
    };
  };
  json unlisted = DeviceManifest();
  unlisted[json::json_pointer(kMaps)] = json::array({MapOfTable()});
  json of_ranks = MapOfWorkspace();
  of_ranks["symmetric"] = of_ranks["workspace"];
  of_ranks.erase("workspace");
  constexpr etc_status kManifest = ETC_ERROR_MANIFEST;
  CheckFaults({
      {"not listed", [&] { return load(unlisted); }, kManifest, "does not list `tensor_maps`"},
      {"of tiles, which are not listed",
       [&] { return load(Manifest(json::array({MapOfTiles()}))); }, kManifest,
       "does not list `boxes_of_tiles`"},
      {"of no parameter", with("param", "tables"), kManifest, "which is no parameter"},
      {"of no place", without("param"), kManifest, "symmetric` is missing"},
      {"of two places", with("workspace", 0), kManifest, "has no meaning here"},
      {"of ranks", [&] { return load(Manifest(json::array({of_ranks}))); }, kManifest,
       "has no mesh"},
      {"of no dtype", with("dtype", "f4"), kManifest, "which is no dtype"},
      {"of two axes", with("shape", {10, "width"}), kManifest, "must be a number of slices"},
      {"of an unknown dim", with("shape", {1, 10, "seq"}), kManifest, "which is no dim"},
      {"without a box", without("box"), kManifest, "box` is missing"},
      {"a box of one extent", with("box", {8}), kManifest, "must be a number of rows and one"},
      {"a box of 257 rows", with("box", {257, 32}), kManifest, "must be in 1..256"},
      {"a box of text", with("box", {8, "width"}), kManifest, "an integer is expected"},
      {"an unknown key", with("swizzle", true), kManifest, "has no meaning here"},
  });
}

}  // namespace
}  // namespace etc::test
