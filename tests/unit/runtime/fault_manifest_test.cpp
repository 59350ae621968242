// What no manifest may be like, whatever it is the manifest of.
#include <string>
#include <vector>

#include "runtime/manifest_errors.h"
#include "runtime/manifest_seal.h"

namespace etc::test {
namespace {

using nlohmann::json;
using runtime::ReadManifest;

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
  CHECK(ErrorOf("[]") == "the JSON text is an array, but an object is expected");
  CHECK(ErrorOf("{\"etc_manifest\": 1e999}") == "the JSON text has a number that is out of range");
  CHECK(ErrorOf(std::string(100000, '[')) == "the JSON text is nested more than 400 levels deep");
  CHECK(ErrorOf(std::string(100'000'001, ' ')) ==
        "the JSON text has 100000001 bytes, but must not have more than 100000000");
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
  CHECK(ErrorWith(place, 1e30) ==
        where + "is a number of more than 64 bits, but an integer is expected");
  json deep = 1;
  for (int i = 0; i < 1000; ++i) {
    deep = {"+", deep, 1};
  }
  CHECK(ErrorWith(place, deep) == "the JSON text is nested more than 400 levels deep");
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
