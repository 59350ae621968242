// In how many parts ranks have a parameter: what a manifest may say, and what the library tells.
#include <algorithm>
#include <string>

#include "runtime/manifest_errors.h"

namespace etc::test {
namespace {

using nlohmann::json;

/// `gather` for several ranks, whose `table` is divided along an axis.
json SharedManifest(const json& parts, const json& shard = 1) {
  json manifest = Complete();
  AddRanks(manifest, {1, 2, 6});
  manifest["features"].push_back("shared_parts");
  json& graph = manifest["graphs"][0];
  graph["params"][1]["shard"] = shard;
  graph["params"][1]["shard_parts"] = parts;
  return manifest;
}

std::string ErrorOfParts(const json& parts) { return ErrorOf(Sealed(SharedManifest(parts))); }

TEST_CASE("ranks that follow each other have the same part") {
  const TempDir dir;
  const Program program(WriteArtifact(dir, SharedManifest({"min", "tp", 3}), GatherBinary()));
  const auto part = [&](const char* param, int32_t rank, int32_t ranks) {
    return program.Part("gather", param, rank, ranks);
  };
  CHECK(part("table", 0, 1) == std::pair(0, 1));
  CHECK(part("table", 1, 2) == std::pair(1, 2));
  for (int32_t rank = 0; rank < 6; ++rank) {
    CHECK(part("table", rank, 6) == std::pair(rank / 2, 3));
    CHECK(part("ids", rank, 6) == std::pair(0, 1));
  }
  CHECK(FailureOf([&] { part("table", 6, 6); }).text ==
        "there is no rank 6: there are 6, counted from 0");
  CHECK(FailureOf([&] { part("table", 0, 3); }).status == ETC_ERROR_DIM);
  CHECK(FailureOf([&] { part("tables", 0, 2); }).status == ETC_ERROR_NOT_FOUND);
  CHECK(etc_program_part(program.get(), nullptr, "table", 0, 2, nullptr, nullptr) ==
        ETC_ERROR_ARGUMENT);
}

TEST_CASE("parts divide the number of ranks") {
  const std::string place = "`graphs[0].params[1].shard_parts` ";
  const std::string number = place + "is wrong: the number of parts of `table`";
  CHECK(ErrorOfParts(4) == number + ", 4, does not divide 1 rank");
  CHECK(ErrorOfParts({"min", "tp", 4}) == number + ", 4, does not divide 6 ranks");
  CHECK(ErrorOfParts({"-", "tp", 1}) == number + ", 0, does not divide 1 rank");
  CHECK(ErrorOfParts("batch") == number + " depends on more than the number of ranks");
  CHECK(ErrorOfParts(0) == place + "is 0, but must be in 1..64");
}

TEST_CASE("parts are of an axis, and a feature of their own") {
  json manifest = SharedManifest({"min", "tp", 3});
  manifest["graphs"][0]["params"][1].erase("shard");
  CHECK(ErrorOf(Sealed(manifest)) ==
        "`graphs[0].params[1].shard_parts` is given, but the parameter has no `shard`");
  manifest = SharedManifest({"min", "tp", 3});
  json& features = manifest["features"];
  features.erase(std::find(features.begin(), features.end(), "shared_parts"));
  CHECK(ErrorOf(Sealed(manifest)) ==
        "`features` does not list `shared_parts`, which graph `gather` uses");
}

}  // namespace
}  // namespace etc::test
