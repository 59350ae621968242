// What is read of a manifest, and what each part of it must be like.
#include <algorithm>
#include <string>
#include <vector>

#include "runtime/manifest_errors.h"
#include "runtime/manifest_expr.h"
#include "runtime/requirements.h"

namespace etc::test {
namespace {

using nlohmann::json;
using runtime::ReadManifest;

TEST_CASE("a manifest is read whole") {
  manifest::Manifest manifest;
  REQUIRE(ReadManifest(Sealed(Complete()), &manifest).Ok());
  CHECK(manifest.target == "host");
  CHECK(manifest.producer.flags == std::vector<std::string>{"-O1"});
  CHECK(manifest.constants.size() == 3);
  const manifest::Graph& graph = manifest.graphs.at(0);
  CHECK(graph.dims.at(1).multiple == 4);
  CHECK(graph.params.at(0).values->max.value == 9);
  CHECK(graph.params.at(2).access == ETC_OUT);
  CHECK(graph.kernels.at(1).where.at(0).min == 9);
  CHECK(graph.kernels.at(1).shared_bytes == 100000);
}

TEST_CASE("a binary may hold several images, which begin one behind the other") {
  json manifest = Complete();
  manifest["binary"]["images"] = {0, 2};
  CHECK(ErrorOf(Sealed(manifest)) == "`features` does not list `images`, which the binary uses");
  manifest["features"].push_back("images");
  manifest::Manifest read;
  REQUIRE(ReadManifest(Sealed(manifest), &read).Ok());
  CHECK(read.binary.images == std::vector<int64_t>{0, 2});
  CHECK(ErrorWith("/binary/images", json::array()) ==
        "`binary.images` is empty, but a binary has an image");
  CHECK(ErrorWith("/binary/images", {1, 2}) == "`binary.images[0]` is 1, but must be in 0..0");
  CHECK(ErrorWith("/binary/images", {0, 0}) == "`binary.images[1]` is 0, but must be in 1..2");
  CHECK(ErrorWith("/binary/images", {0, 3}) == "`binary.images[1]` is 3, but must be in 1..2");
  CHECK(ErrorWith("/binary/images", "0") ==
        "`binary.images` is a string, but an array is expected");
}

TEST_CASE("requirements and sizes with operators on bits are read") {
  json manifest = Complete();
  manifest["features"].push_back("requirements");
  json& graph = manifest["graphs"][0];
  const json power = {"==", {"&", "batch", {"-", "batch", 1}}, 0};
  graph["requirements"] = json::array({{{"text", "(batch & batch - 1) == 0"}, {"holds", power}}});
  graph["params"][2]["shape"] = {json{"<<", "batch", 1},
                                 json{"^", {"|", {">>", "width", 2}, 1}, 2}};
  manifest::Manifest read;
  REQUIRE(ReadManifest(Sealed(manifest), &read).Ok());
  const manifest::Graph& found = read.graphs.at(0);
  const std::vector<manifest::Expr>& shape = found.params.at(2).shape;
  CHECK(runtime::ToText(shape[0], found.dims) == "batch << 1");
  CHECK(runtime::ToText(shape[1], found.dims) == "(width >> 2 | 1) ^ 2");
  CHECK(runtime::ToText(found.requirements.at(0).holds, found.dims) == "batch & batch - 1 == 0");
  int64_t value = 0;
  REQUIRE(runtime::Evaluate(shape[0], {8, 16}, &value).Ok());
  CHECK(value == 16);
  REQUIRE(runtime::Evaluate(shape[1], {8, 16}, &value).Ok());
  CHECK(value == 7);
  CHECK(runtime::CheckRequirements(found, found.requirements, {8, 16}).Ok());
  CHECK(runtime::CheckRequirements(found, found.requirements, {12, 16}).message ==
        "graph `gather` requires `(batch & batch - 1) == 0`, which does not hold for batch = 12");

  const auto error_with = [&](const json& holds) {
    graph["requirements"][0]["holds"] = holds;
    return ErrorOf(Sealed(manifest));
  };
  const std::string place = "`graphs[0].requirements[0].holds` ";
  CHECK(error_with({"<<", "batch"}) == place + "gives `<<` 1 arguments, but it takes 2");
  CHECK(error_with({"~", "batch"}) == place + "has the unknown operator `~`");
  CHECK(error_with({">>", 1, 64}) ==
        place + "divides by zero, overflows, or shifts by less than 0 or more than 63");
  CHECK(error_with({"<<", 1, 63}) ==
        place + "divides by zero, overflows, or shifts by less than 0 or more than 63");
}

TEST_CASE("a layout is read and held against the shape") {
  json manifest = Complete();
  manifest["graphs"][0]["params"][1]["layout"]["tile"] = {2, 4};
  manifest::Manifest read;
  REQUIRE(ReadManifest(Sealed(manifest), &read).Ok());
  const manifest::Graph& graph = read.graphs.at(0);
  CHECK_FALSE(graph.params.at(0).tile.has_value());
  CHECK(graph.params.at(1).tile->rows == 2);
  CHECK(graph.params.at(1).tile->columns == 4);
  CHECK_FALSE(graph.params.at(1).tile->swizzle);

  const char* table = "/graphs/0/params/1/layout";
  const std::string place = "`graphs[0].params[1].layout";
  CHECK(ErrorWith(table, "tiled") == place + "` is a string, but an object is expected");
  CHECK(ErrorWith(table, json::object()) == place + ".tile` is missing");
  CHECK(ErrorWith(table, {{"tile", {2}}}) == place + ".tile` has 1 sizes, but must have 2");
  CHECK(ErrorWith(table, {{"tile", {2, 0}}}) ==
        place + ".tile[1]` is 0, but must be in 1..1048576");
  CHECK(ErrorWith(table, {{"tile", {4, 4}}}) ==
        place + ".tile` has 4, which does not divide extent 0, 10");
  CHECK(ErrorWith("/graphs/0/params/0/layout", {{"tile", {2, 4}}}) ==
        "`graphs[0].params[0].layout.tile` is given, but the parameter has 1 extents");
}

TEST_CASE("a swizzle is held against the tile") {
  json manifest = Complete();
  json& table = manifest["graphs"][0]["params"][1];
  table["shape"][0] = 16;
  table["layout"] = {{"tile", {8, 16}}, {"swizzle", true}};
  manifest::Manifest read;
  REQUIRE(ReadManifest(Sealed(manifest), &read).Ok());
  CHECK(read.graphs.at(0).params.at(1).tile->swizzle);
  const auto error_with = [&](const json& layout) {
    table["layout"] = layout;
    manifest::Manifest ignored;
    return ReadManifest(Sealed(manifest), &ignored).message;
  };
  const std::string place = "`graphs[0].params[1].layout.swizzle` ";
  CHECK(error_with({{"tile", {8, 16}}, {"swizzle", 1}}) ==
        place + "is an integer, but a boolean is expected");
  CHECK(error_with({{"tile", {8, 4}}, {"swizzle", true}}) ==
        place + "is given, but the tile has 8 rows of 16 bytes");
  CHECK(error_with({{"tile", {4, 16}}, {"swizzle", true}}) ==
        place + "is given, but the tile has 4 rows of 64 bytes");
  CHECK(error_with({{"tile", {4, 4}}, {"swizzle", false}}).empty());
}

TEST_CASE("the texts of debug checks and of waits may be there") {
  json manifest = Complete();
  manifest::Manifest read;
  REQUIRE(ReadManifest(Sealed(manifest), &read).Ok());
  CHECK_FALSE(read.debug_checks.has_value());
  CHECK_FALSE(read.watchdog.has_value());
  manifest["watchdog"] = json::array({"{} waits"});
  manifest["debug_checks"] = json::array({"[{}] is {}"});
  manifest::Manifest checked;
  REQUIRE(ReadManifest(Sealed(manifest), &checked).Ok());
  CHECK(checked.debug_checks == std::vector<std::string>{"[{}] is {}"});
  CHECK(checked.watchdog == std::vector<std::string>{"{} waits"});
  CHECK(ErrorWith("/debug_checks", json::array({1})) ==
        "`debug_checks[0]` is an integer, but a string is expected");
}

TEST_CASE("a kernel says what its profiles hold") {
  json manifest = Complete();
  json& kernel = manifest["graphs"][0]["kernels"][0];
  const json span = {{"kind", "task"},
                     {"call", "@f"},
                     {"text", "@f[{}]"},
                     {"fields", json::array({json::array({"i", 13})})},
                     {"source", "f.etir:3"}};
  kernel["profile"] = {
      {"kernel", "@g"}, {"records", {"ceildiv", "batch", "sms"}}, {"spans", json::array({span})}};
  manifest::Manifest read;
  REQUIRE(ReadManifest(Sealed(manifest), &read).Ok());
  const manifest::Profile& profile = read.graphs[0].kernels[0].profile.value();
  CHECK(profile.kernel == "@g");
  CHECK(profile.spans.at(0).fields.at(0).bits == 13);
  int64_t records = 0;
  std::vector<int64_t> sizes(read.graphs[0].dims.size(), 64);
  sizes.push_back(10);  // SMs
  CHECK(runtime::Evaluate(profile.records, sizes, &records).Ok());
  CHECK(records == 7);

  auto error_with = [&](const char* key, const json& value) {
    json changed = manifest;
    changed["graphs"][0]["kernels"][0]["profile"]["spans"][0][key] = value;
    return ErrorOf(Sealed(changed));
  };
  const std::string place = "`graphs[0].kernels[0].profile.spans[0].";
  CHECK(error_with("kind", "nap") ==
        place + "kind` is `nap`, but must be `task`, `wait` or `signal`");
  CHECK(error_with("fields", json::array({json::array({"i", 40}), json::array({"j", 9})})) ==
        place + "fields[1][1]` is 9, but must be in 0..8");
  CHECK(error_with("fields", json::array({json::array({"i"})})) ==
        place + "fields[0]` must be a name and a number of bits");
  manifest["features"].erase(
      std::find(manifest["features"].begin(), manifest["features"].end(), json("profile")));
  CHECK(ErrorOf(Sealed(manifest)) ==
        "`features` does not list `profile`, which graph `gather` uses");
}

TEST_CASE("proofs are read for who asks") {
  json manifest = Complete();
  manifest["proofs"] = {{"bounds", {{"proved", 7}, {"not_proved", 1}}},
                        {"assumptions", {"%ids in 0 .. 9"}},
                        {"not_proved", {"x"}}};
  manifest::Manifest read;
  REQUIRE(ReadManifest(Sealed(manifest), &read).Ok());
  CHECK(read.proofs->tallies.at(0).property == "bounds");
  CHECK(read.proofs->tallies.at(0).proved == 7);
  CHECK(read.proofs->assumptions.at(0) == "%ids in 0 .. 9");
  CHECK_FALSE(read.kernel_proofs.has_value());
}

TEST_CASE("constants that are no finite numbers") {
  json manifest = Complete();
  manifest["constants"]["scale"] = "-inf";
  manifest::Manifest read;
  REQUIRE(ReadManifest(Sealed(manifest), &read).Ok());
  CHECK(std::get<double>(read.constants.at(2).value) < -1e308);
}

}  // namespace
}  // namespace etc::test
