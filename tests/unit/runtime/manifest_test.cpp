#include <doctest/doctest.h>

#include <string>

#include "runtime/artifact.h"
#include "runtime/manifest_expr.h"
#include "runtime/manifest_reader.h"
#include "runtime/manifest_seal.h"
#include "runtime/requirements.h"

namespace etc::test {
namespace {

using nlohmann::json;
using runtime::ReadManifest;
using runtime::Status;

json Complete() {
  json manifest = GatherManifest();
  manifest["binary"]["bytes"] = 3;
  manifest["binary"]["xxh3_128"] = std::string(32, '0');
  return manifest;
}

std::string ErrorOf(const std::string& text) {
  manifest::Manifest manifest;
  const Status status = ReadManifest(text, &manifest);
  CHECK(status.code == ETC_ERROR_MANIFEST);
  return status.message;
}

/// The error after the value at `pointer` became `value`.
std::string ErrorWith(const char* pointer, const json& value) {
  json manifest = Complete();
  manifest[json::json_pointer(pointer)] = value;
  return ErrorOf(Sealed(manifest));
}

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

TEST_CASE("keys that are not known are errors, but where they change nothing") {
  json manifest = Complete();
  manifest["producer"]["host"] = "somewhere";
  manifest["resources"] = {{"gather_small", {{"registers", 168}}}};
  manifest::Manifest read;
  CHECK(ReadManifest(Sealed(manifest), &read).Ok());
  const std::string end = "` is a key that has no meaning here to this library";
  for (const char* place : {"strides", "binary.offset", "graphs[0].outputs",
                            "graphs[0].dims[0].unit", "graphs[0].params[1].strides",
                            "graphs[0].params[1].layout.order", "graphs[0].kernels[0].cluster",
                            "graphs[0].kernels[0].where[0].not", "graphs[0].kernels[0].launches"}) {
    json changed = Complete();
    changed["graphs"][0]["params"][1]["layout"]["tile"] = {2, 4};
    std::string pointer = "/";
    for (const char* c = place; *c != '\0'; ++c) {
      pointer += *c == '.' || *c == '[' ? "/" : *c == ']' ? "" : std::string(1, *c);
    }
    changed[json::json_pointer(pointer)] = 1;
    CHECK(ErrorOf(Sealed(changed)) == "`" + std::string(place) + end);
  }
}

TEST_CASE("what a manifest uses it must list, and what it lists must be known") {
  json manifest = Complete();
  manifest["features"].push_back("clusters");
  CHECK(ErrorOf(Sealed(manifest)) ==
        "needs the feature `clusters`, which this library does not have");
  manifest = Complete();
  manifest["features"] = {"where"};
  CHECK(ErrorOf(Sealed(manifest)) ==
        "`features` does not list `value_ranges`, which graph `gather` uses");
  manifest["features"] = {"where", "value_ranges"};
  manifest["debug_checks"] = json::array({"[{}] is {}"});
  CHECK(ErrorOf(Sealed(manifest)) ==
        "`features` does not list `debug_checks`, which the program uses");
  manifest["watchdog"] = json::array({"{} waits"});
  CHECK(ErrorOf(Sealed(manifest)) == "`features` does not list `watchdog`, which the program uses");
}

TEST_CASE("a manifest that was changed after it was written") {
  const std::string text = Sealed(Complete());
  manifest::Manifest read;
  REQUIRE(ReadManifest(text, &read).Ok());
  CHECK(read.hash.size() == 32);
  std::string changed = text;
  changed.replace(changed.find("1024"), 4, "2048");
  CHECK(ErrorOf(changed).find("it was changed after it was written") != std::string::npos);
  changed = text;
  changed.insert(changed.find("\"binary\""), " ");
  CHECK(ErrorOf(changed).find("it was changed after it was written") != std::string::npos);
  CHECK(ErrorOf(Complete().dump()) == "`xxh3_128` is missing");
  json early = json::parse(text);
  early["z"] = 1;
  CHECK(ErrorOf(early.dump()).find("does not end with `xxh3_128`") == 0);
}

TEST_CASE("a key that is given twice") {
  std::string text = Complete().dump();
  text.replace(text.find("\"max\":64"), 8, "\"max\":64,\"max\":65");
  CHECK(ErrorOf(runtime::SealManifest(text)) == "`graphs[0].dims[0].max` is given twice");
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

TEST_CASE("every key of the schema is needed") {
  const json complete = Complete();
  const json flat = complete.flatten();
  int keys = 0;
  for (const auto& [pointer, value] : flat.items()) {
    json manifest = complete;
    json::json_pointer path(pointer);
    const std::string key = path.back();
    path.pop_back();
    json& parent = manifest[path];
    if (!parent.is_object() || pointer.rfind("/constants", 0) == 0 ||
        pointer.rfind("/features", 0) == 0) {
      continue;
    }
    parent.erase(key);
    CAPTURE(pointer);
    const std::string end = key + "` is missing";
    const std::string error = ErrorOf(Sealed(manifest));
    REQUIRE(error.size() > end.size());
    CHECK(error.substr(error.size() - end.size()) == end);
    ++keys;
  }
  CHECK(keys > 20);
  for (const char* key : {"binary", "producer", "constants", "features", "graphs"}) {
    json manifest = complete;
    manifest.erase(key);
    CHECK(ErrorOf(Sealed(manifest)) == "`" + std::string(key) + "` is missing");
  }
}

TEST_CASE("every value of another type is an error, and none is a crash") {
  const json complete = Complete();
  const json flat = complete.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (const json& other : {json(nullptr), json(1.5), json::object(), json::array()}) {
      if (pointer.rfind("/constants", 0) == 0 && other.is_number()) {
        continue;
      }
      json manifest = complete;
      manifest[json::json_pointer(pointer)] = other;
      CAPTURE(pointer);
      CAPTURE(other.dump());
      CHECK_FALSE(ErrorOf(Sealed(manifest)).empty());
    }
  }
}

TEST_CASE("every beginning of a manifest is an error, and none is a crash") {
  const std::string text = Complete().dump();
  for (size_t length = 0; length < text.size(); ++length) {
    CHECK(ErrorOf(text.substr(0, length)).find("is no JSON") != std::string::npos);
  }
}

TEST_CASE("what is no manifest at all") {
  CHECK(ErrorOf("{\n\"a\": }") == "what stands in line 2 is no JSON");
  CHECK(ErrorOf("[]") == "is an array, but an object is expected");
  CHECK(ErrorOf("{\"etc_manifest\": 1e999}") == "has a number that is out of range");
  CHECK(ErrorOf(std::string(100000, '[')) == "is nested more than 400 levels deep");
  CHECK(ErrorOf(std::string((16 << 20) + 1, ' ')) ==
        "has 16777217 bytes, but must not have more than 16777216");
  CHECK(ErrorWith("/etc_manifest", 1) ==
        "`etc_manifest` is version 1, but this library reads version 2");
}

TEST_CASE("errors name the place") {
  CHECK(ErrorWith("/graphs/0/params/2/dtype", 3) ==
        "`graphs[0].params[2].dtype` is an integer, but a string is expected");
  CHECK(ErrorWith("/graphs/0/params/2/dtype", "f4") ==
        "`graphs[0].params[2].dtype` is `f4`, which is no dtype");
  CHECK(ErrorWith("/graphs/0/params/1/access", "read") ==
        "`graphs[0].params[1].access` is `read`, but must be `in`, `out` or `inout`");
  CHECK(ErrorWith("/graphs/0/params/1/alignment", 24) ==
        "`graphs[0].params[1].alignment` is 24, which is no power of two");
  CHECK(ErrorWith("/graphs/0/params/1/value_min", 0) ==
        "`graphs[0].params[1].value_max` is missing");
  CHECK(ErrorWith("/graphs/0/params/1/name", "ids") ==
        "`graphs[0].params[1].name` is `ids`, which an earlier element has too");
  CHECK(ErrorWith("/graphs/0/dims/0/name", "") == "`graphs[0].dims[0].name` is empty");
  CHECK(ErrorWith("/graphs/0/dims/0/max", 0) ==
        "`graphs[0].dims[0].max` is 0, but must be in 1..9223372036854775807");
  CHECK(ErrorWith("/graphs/0/dims/0/max", UINT64_MAX) ==
        "`graphs[0].dims[0].max` is 18446744073709551615, which is too large");
  CHECK(ErrorWith("/graphs/0/dims/0/multiple", 0).find("must be in 1..") != std::string::npos);
  CHECK(ErrorWith("/graphs/0/kernels", json::array()) == "`graphs[0].kernels` is empty");
  CHECK(ErrorWith("/graphs/0/kernels/0/entry", "") == "`graphs[0].kernels[0].entry` is empty");
  CHECK(ErrorWith("/graphs/0/kernels/0/threads", 2048) ==
        "`graphs[0].kernels[0].threads` is 2048, but must be in 1..1024");
  CHECK(ErrorWith("/graphs/0/kernels/0/where/0/dim", "seq") ==
        "`graphs[0].kernels[0].where[0].dim` names `seq`, which is no dim of graph `gather`");
  CHECK(ErrorWith("/graphs", json::array()) == "`graphs` is empty");
  CHECK(ErrorWith("/binary/file", "../gather.so") ==
        "`binary.file` is `../gather.so`, but must name a file beside it");
  CHECK(ErrorWith("/constants", json::array()) ==
        "`constants` is an array, but an object is expected");
  CHECK(ErrorWith("/constants/rows", "ten") ==
        "`constants.rows` is a string, but a number or a boolean is expected");
  CHECK(ErrorWith("/target", std::string("ho\0st", 5)) == "`target` has a null character");
}

TEST_CASE("a value range is for integer tensors") {
  json manifest = Complete();
  manifest["graphs"][0]["params"][1]["value_min"] = 0;
  manifest["graphs"][0]["params"][1]["value_max"] = 1;
  CHECK(ErrorOf(Sealed(manifest)) ==
        "`graphs[0].params[1].value_min` is given, but only integer tensors have a value range");
}

TEST_CASE("bad expressions") {
  const char* place = "/graphs/0/kernels/0/workspace_bytes";
  const std::string where = "`graphs[0].kernels[0].workspace_bytes` ";
  CHECK(ErrorWith(place, "seq") == where + "names `seq`, which is no dim of graph `gather`");
  CHECK(ErrorWith(place, {"**", 1, 2}) == where + "has the unknown operator `**`");
  CHECK(ErrorWith(place, {"+", 1}) == where + "gives `+` 1 arguments, but it takes 2");
  CHECK(ErrorWith(place, {"select", 1, 2}) == where + "gives `select` 2 arguments, but it takes 3");
  CHECK(ErrorWith(place, json::array()) ==
        where + "is an array that does not begin with an operator");
  CHECK(ErrorWith(place, {1, 2, 3}) == where + "is an array that does not begin with an operator");
  CHECK(ErrorWith(place, true) == where + "is a boolean, but an expression is expected");
  CHECK(ErrorWith(place, {"+", 1, 0.5}) ==
        "`graphs[0].kernels[0].workspace_bytes[2]` is a number with a fraction, but an integer is "
        "expected");
  json deep = 1;
  for (int i = 0; i < 1000; ++i) {
    deep = {"+", deep, 1};
  }
  CHECK(ErrorWith(place, deep) == "is nested more than 400 levels deep");
  deep = 1;
  for (int i = 0; i < 300; ++i) {
    deep = {"+", deep, 1};
  }
  CHECK(ErrorWith(place, deep).find("is nested too deeply") != std::string::npos);
  CHECK(ErrorWith(place, {"/", 1, 0}) ==
        where + "divides by zero, overflows, or shifts by less than 0 or more than 63");
  CHECK(ErrorWith(place, -1) == where + "is -1, but must be in 0..9223372036854775807");
  CHECK(ErrorWith("/graphs/0/params/0/shape", json(std::vector<int>(17, 1))) ==
        "`graphs[0].params[0].shape` has more than 16 extents");
}

}  // namespace
}  // namespace etc::test
