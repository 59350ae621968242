// What the runtime must refuse to load.
#include <filesystem>

#include "runtime/container.h"
#include "runtime/fault_table.h"
#include "runtime/manifest_seal.h"

namespace etc::test {
namespace {

using nlohmann::json;

/// A manifest with all that the schema has.
json FullManifest() {
  json manifest = GatherManifest();
  manifest["binary"]["bytes"] = 6;
  manifest["binary"]["xxh3_128"] = std::string(32, '0');
  json& graph = manifest["graphs"][0];
  graph["params"][0]["distinct"] = true;
  graph["params"][1]["shape"][0] = 16;
  graph["params"][1]["layout"] = {{"tile", {8, 16}}, {"swizzle", true}};
  json list = graph["kernels"][1];
  list.erase("entry");
  list["schedule"] = "kernels";
  list["launches"] = {{{"entry", "load"}, {"tasks", "batch"}},
                      {{"repeat", {0, 3}}, {"launches", {{{"entry", "step"}, {"tasks", 7}}}}}};
  graph["kernels"][1] = list;
  manifest["debug_checks"] = {"[{}] is {}"};
  manifest["proofs"] = {{"bounds", {{"proved", 7}, {"not_proved", 0}}},
                        {"assumptions", json::array()},
                        {"not_proved", json::array()}};
  return manifest;
}

etc_status Load(const std::string& container) {
  etc_program* program = nullptr;
  const etc_status status = etc_program_load_memory(container.data(), container.size(), &program);
  etc_program_free(program);
  return status;
}

/// The artifact of a manifest's text, which gets the hash that it needs.
etc_status LoadText(const std::string& text) {
  return Load(runtime::WriteContainer(runtime::SealManifest(text), "binary"));
}

etc_status LoadManifest(const json& manifest) {
  return Load(runtime::WriteContainer(ManifestText(manifest, "binary"), "binary"));
}

/// Loads the manifest with another value at a place.
std::function<etc_status()> With(const char* pointer, const json& value) {
  return [=] {
    json manifest = FullManifest();
    manifest[json::json_pointer(pointer)] = value;
    return LoadManifest(manifest);
  };
}

/// The same without the member.
std::function<etc_status()> Without(const char* pointer) {
  return [=] {
    json manifest = FullManifest();
    json::json_pointer path(pointer);
    const std::string key = path.back();
    path.pop_back();
    manifest[path].erase(key);
    return LoadManifest(manifest);
  };
}

/// Loads a text in which `from` became `to`.
std::function<etc_status()> Edited(const std::string& from, const std::string& to) {
  return [=] {
    std::string text = FullManifest().dump();
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    return LoadText(text);
  };
}

json Nested(int depth) {
  json expr = "batch";
  for (int i = 0; i < depth; ++i) {
    expr = {"+", expr, 1};
  }
  return expr;
}

TEST_CASE("the manifest of the table is right") { CHECK(LoadManifest(FullManifest()) == ETC_OK); }

TEST_CASE("faults of manifests") {
  constexpr etc_status kManifest = ETC_ERROR_MANIFEST;
  const std::string long_name(100000, 'x');
  const json step = {{"entry", "step"}, {"tasks", 1}};
  const auto repeat = [](const json& bounds, const json& inner) {
    return json::array({json{{"repeat", bounds}, {"launches", inner}}});
  };
  const char* list = "/graphs/0/kernels/1/launches";
  const char* bytes = "/graphs/0/kernels/0/workspace_bytes";
  const size_t count = CheckFaults({
      // The root.
      {"an older version", With("/etc_manifest", 1), kManifest, "is version 1"},
      {"a newer version", With("/etc_manifest", 3), kManifest, "this library reads version 2"},
      {"a version as text", With("/etc_manifest", "2"), kManifest, "an integer is expected"},
      {"no version", Without("/etc_manifest"), kManifest, "`etc_manifest` is missing"},
      {"an unknown feature", With("/features/0", "clusters"), kManifest, "needs the feature"},
      {"no features", Without("/features"), kManifest, "`features` is missing"},
      {"features as text", With("/features", "tiles"), kManifest, "an array is expected"},
      {"a feature that is used", With("/features", json::array()), kManifest, "does not list"},
      {"tiles not listed", With("/features", {"where", "value_ranges", "distinct"}), kManifest,
       "does not list `tiles`"},
      {"an unknown key", With("/requires", {"m <= n"}), kManifest, "`requires` is a key that has"},
      {"another target", With("/target", "tpu"), kManifest, "is `tpu`, but must be `host`"},
      {"an empty target", With("/target", ""), kManifest, "must be `host`"},
      {"a target of NUL", With("/target", std::string("ho\0st", 5)), kManifest, "null character"},
      {"graphs as an object", With("/graphs", json::object()), kManifest, "an array is expected"},
      {"no graph", With("/graphs", json::array()), kManifest, "`graphs` is empty"},
      {"no constants", Without("/constants"), kManifest, "`constants` is missing"},
      {"a constant that is none", With("/constants/rows", json::array()), kManifest,
       "a number or a boolean is expected"},
      {"a constant out of range", Edited("\"rows\":10", "\"rows\":9223372036854775808"), kManifest,
       "too large"},
      {"a number out of range", Edited("\"rows\":10", "\"rows\":1e999"), kManifest, "out of range"},
      {"checks as numbers", With("/debug_checks", {1}), kManifest, "a string is expected"},
      {"proofs below zero", With("/proofs/bounds/proved", -1), kManifest, "must be in 0.."},
      {"proofs of nothing", With("/proofs/races", 3), kManifest, "an object is expected"},
      // The binary.
      {"no file", With("/binary/file", ""), kManifest, "must name a file beside it"},
      {"a file elsewhere", With("/binary/file", "../x.so"), kManifest, "must name a file beside"},
      {"the folder", With("/binary/file", ".."), kManifest, "must name a file beside it"},
      {"no bytes", Without("/binary/file"), kManifest, "`binary.file` is missing"},
      {"an unknown key of the binary", With("/binary/offset", 64), kManifest, "`binary.offset`"},
      // Dims.
      {"a dim without a name", With("/graphs/0/dims/0/name", ""), kManifest, "is empty"},
      {"a dim twice", With("/graphs/0/dims/0/name", "width"), kManifest, "an earlier element has"},
      {"a dim below zero", With("/graphs/0/dims/0/min", -1), kManifest, "must be in 0.."},
      {"a dim without sizes", With("/graphs/0/dims/0/max", 0), kManifest, "must be in 1.."},
      {"a multiple of 0", With("/graphs/0/dims/1/multiple", 0), kManifest, "must be in 1.."},
      {"a multiple above the maximum", With("/graphs/0/dims/1/multiple", 4096), kManifest,
       "has no multiple of 4096 in 4..1024"},
      {"a dim with a fraction", With("/graphs/0/dims/0/min", 1.5), kManifest, "with a fraction"},
      {"a dim's unknown key", With("/graphs/0/dims/0/unit", 8), kManifest, "has no meaning here"},
      // Parameters.
      {"a parameter twice", With("/graphs/0/params/1/name", "ids"), kManifest, "earlier element"},
      {"a long name twice",
       [&] {
         json manifest = FullManifest();
         manifest["graphs"][0]["params"][0]["name"] = long_name;
         manifest["graphs"][0]["params"][1]["name"] = long_name;
         return LoadManifest(manifest);
       },
       kManifest, "xxx…`, which an earlier"},
      {"an unknown access", With("/graphs/0/params/0/access", "read"), kManifest, "must be `in`"},
      {"an unknown dtype", With("/graphs/0/params/0/dtype", "f4"), kManifest, "which is no dtype"},
      {"a shape of text", With("/graphs/0/params/0/shape", "batch"), kManifest, "an array is"},
      {"a rank of 17", With("/graphs/0/params/0/shape", json(std::vector<int>(17, 1))), kManifest,
       "more than 16 extents"},
      {"a negative extent", With("/graphs/0/params/0/shape", {-4}), kManifest, "is -4, but must be"},
      {"an unknown dim", With("/graphs/0/params/0/shape", {"seq"}), kManifest, "which is no dim"},
      {"alignment 0", With("/graphs/0/params/0/alignment", 0), kManifest, "must be in 1.."},
      {"alignment 24", With("/graphs/0/params/0/alignment", 24), kManifest, "no power of two"},
      {"alignment 2^62", With("/graphs/0/params/0/alignment", int64_t{1} << 62), kManifest,
       "must be in 1.."},
      {"half a range", Without("/graphs/0/params/0/value_max"), kManifest, "value_max` is missing"},
      {"distinct floats", With("/graphs/0/params/2/distinct", true), kManifest, "only integer"},
      {"monotone as 1", With("/graphs/0/params/0/monotone", 1), kManifest, "a boolean is expected"},
      {"a tile of one axis", With("/graphs/0/params/1/layout/tile", {8}), kManifest, "must have 2"},
      {"a tile of 0", With("/graphs/0/params/1/layout/tile", {8, 0}), kManifest, "must be in 1.."},
      {"a tile that does not divide", With("/graphs/0/params/1/layout/tile", {24, 16}), kManifest,
       "does not divide extent 0, 16"},
      {"a swizzle of short lines", With("/graphs/0/params/1/layout/tile", {8, 4}), kManifest,
       "rows of 16 bytes"},
      {"a layout's unknown key", With("/graphs/0/params/1/layout/order", "column"), kManifest,
       "layout.order` is a key that has no meaning"},
      {"a parameter's unknown key", With("/graphs/0/params/1/strides", {1}), kManifest,
       "has no meaning here"},
      // Kernels.
      {"no kernel", With("/graphs/0/kernels", json::array()), kManifest, "kernels` is empty"},
      {"0 threads", With("/graphs/0/kernels/0/threads", 0), kManifest, "must be in 1..1024"},
      {"10^9 threads", With("/graphs/0/kernels/0/threads", 1000000000), kManifest, "1..1024"},
      {"100 threads", With("/graphs/0/kernels/0/threads", 100), kManifest, "not a multiple of 32"},
      {"less than no shared memory", With("/graphs/0/kernels/0/shared_bytes", -1), kManifest,
       "must be in 0.."},
      {"an unknown schedule", With("/graphs/0/kernels/0/schedule", "auto"), kManifest,
       "must be `static`, `dynamic` or `kernels`"},
      {"launches of a static kernel", With("/graphs/0/kernels/1/schedule", "static"), kManifest,
       "`graphs[0].kernels[1].entry` is missing"},
      {"an entry beside launches", With("/graphs/0/kernels/1/entry", "x"), kManifest,
       "has no meaning here"},
      {"no entry", With("/graphs/0/kernels/0/entry", ""), kManifest, "entry` is empty"},
      {"where of an unknown dim", With("/graphs/0/kernels/0/where/0/dim", "seq"), kManifest,
       "which is no dim"},
      {"where of a number", With("/graphs/0/kernels/0/where/0/dim", 0), kManifest, "a string is"},
      {"where of no size", With("/graphs/0/kernels/0/where/0/max", 0), kManifest, "must be in 1.."},
      {"a repeat backwards", With(list, repeat({3, 0}, {step})), kManifest, "must be the first"},
      {"a repeat from -1", With(list, repeat({-1, 3}, {step})), kManifest, "must be the first"},
      {"a repeat to no dim", With(list, repeat({0, "bath"}, {step})), kManifest, "no dim of graph"},
      {"a repeat to a dim", With(list, repeat({0, "batch"}, json::array({step}))), kManifest,
       "`features` does not list `repeats_of_sizes`"},
      {"a repeat of 3 bounds", With(list, repeat({0, 1, 2}, {step})), kManifest, "must be the"},
      {"10^18 launches", With(list, repeat({0, int64_t{1000000000000000000}}, {step})), kManifest,
       "more than 1048576 launches"},
      {"10^18 in 10^18", With(list, repeat({0, int64_t{1} << 60},
                                           repeat({0, int64_t{1} << 60}, {step}))),
       kManifest, "more than 1048576 launches"},
      {"a launch with an unknown key", With("/graphs/0/kernels/1/launches/0/stream", 1), kManifest,
       "launches[0].stream` is a key"},
      {"tasks below zero", With("/graphs/0/kernels/1/launches/0/tasks", -1), kManifest, "is -1"},
      // Expressions.
      {"no expression", With(bytes, true), kManifest, "an expression is expected"},
      {"an empty expression", With(bytes, json::array()), kManifest, "begin with an operator"},
      {"an unknown operator", With(bytes, {"**", 1, 2}), kManifest, "the unknown operator `**`"},
      {"an operator with one side", With(bytes, {"+", 1}), kManifest, "1 arguments"},
      {"an operator with three", With(bytes, {"+", 1, 2, 3}), kManifest, "3 arguments"},
      {"a division by zero", With(bytes, {"/", 8, 0}), kManifest, "divides by zero, overflows, or shifts by less than 0 or more than 63"},
      {"a remainder by zero", With(bytes, {"%", 8, {"-", 1, 1}}), kManifest, "divides by zero"},
      {"an overflow", With(bytes, {"*", int64_t{1} << 62, 4}), kManifest, "overflows"},
      {"a negative size", With(bytes, {"-", 0, 8}), kManifest, "is -8, but must be in 0.."},
      {"too many counters",
       With("/graphs/0/kernels/0/event_counters", {"*", int64_t{1} << 20, int64_t{1} << 20}),
       kManifest, "must be in 0.."},
      {"an expression 300 deep", With(bytes, Nested(300)), kManifest, "is nested too deeply"},
      {"an expression 1000 deep", With(bytes, Nested(1000)), kManifest, "more than 400 levels deep"},
      // The text.
      {"a key twice", Edited("\"max\":64", "\"max\":64,\"max\":65"), kManifest, "is given twice"},
      {"a key twice at the root", Edited("\"target\":", "\"target\":\"host\",\"target\":"),
       kManifest, "`target` is given twice"},
      {"a comma too many", Edited("\"max\":64", "\"max\":64,"), kManifest, "is no JSON"},
      {"no text", [] { return Load(runtime::WriteContainer("", "binary")); }, kManifest,
       "is no JSON"},
      {"an array", [] { return Load(runtime::WriteContainer("[]", "binary")); }, kManifest,
       "an object is expected"},
      {"bytes that are no UTF-8", Edited("gather_small", "gather_\xff"), kManifest, "is no JSON"},
      {"no hash", [] { return Load(runtime::WriteContainer(FullManifest().dump(), "binary")); },
       kManifest, "`xxh3_128` is missing"},
      {"a hash that is none",
       [] {
         json manifest = FullManifest();
         manifest["xxh3_128"] = "z";
         return Load(runtime::WriteContainer(manifest.dump(), "binary"));
       },
       kManifest, "the hash of its text"},
      {"an edit after the hash",
       [] {
         std::string text = ManifestText(FullManifest(), "binary");
         text.replace(text.find("1024"), 4, "2048");
         return Load(runtime::WriteContainer(text, "binary"));
       },
       kManifest, "was changed after it was written"},
  });
  CHECK(count >= 95);
}

/// The bytes of an artifact with some of them changed.
etc_status LoadChanged(size_t at, const std::string& bytes) {
  std::string container = runtime::WriteContainer(ManifestText(FullManifest(), "binary"), "binary");
  container.replace(at, bytes.size(), bytes);
  return Load(container);
}

TEST_CASE("faults of containers and files") {
  constexpr etc_status kBinary = ETC_ERROR_BINARY;
  const std::string whole =
      runtime::WriteContainer(ManifestText(FullManifest(), "binary"), "binary");
  const TempDir dir;
  const auto load = [&](const char* name) {
    etc_program* program = nullptr;
    const etc_status status = etc_program_load(dir.File(name).c_str(), &program);
    etc_program_free(program);
    return status;
  };
  const std::string binary = "\177ELF..";
  WriteArtifact(dir, FullManifest(), binary);
  dir.Write("cut.etca", whole.substr(0, whole.size() - 1));
  dir.Write("text.etca", "no artifact");
  dir.Write("lonely.so", binary);
  dir.Write("gather.cubin", binary);
  dir.Write("weights.safetensors", "no artifact");
  std::filesystem::create_directory(dir.File("folder"));
  const size_t count = CheckFaults({
      {"nothing", [] { return Load(""); }, kBinary, "does not begin like one"},
      {"half a magic", [&] { return Load(whole.substr(0, 4)); }, kBinary, "does not begin"},
      {"the magic alone", [&] { return Load(whole.substr(0, 8)); }, kBinary, "within its header"},
      {"the header alone", [&] { return Load(whole.substr(0, 64)); }, kBinary, "its header says"},
      {"one byte less", [&] { return Load(whole.substr(0, whole.size() - 1)); }, kBinary,
       "its header says"},
      {"one byte more", [&] { return Load(whole + '\0'); }, kBinary, "its header says"},
      {"line ends of another system", [] { return LoadChanged(4, "\n"); }, kBinary, "begin like"},
      {"another version", [] { return LoadChanged(8, "\2"); }, kBinary, "has the version 2"},
      {"a manifest of 2^63 bytes", [] { return LoadChanged(23, "\x80"); }, kBinary, "header says"},
      {"a binary of 2^63 bytes", [] { return LoadChanged(31, "\x80"); }, kBinary, "header says"},
      {"another hash", [] { return LoadChanged(32, "hash"); }, kBinary, "the hash that it names"},
      {"a byte of the header's end", [] { return LoadChanged(60, "x"); }, kBinary, "the hash"},
      {"a byte of the manifest", [] { return LoadChanged(80, "x"); }, kBinary, "the hash"},
      {"a byte of the binary", [&] { return LoadChanged(whole.size() - 1, "x"); }, kBinary,
       "the hash"},
      {"another binary's manifest",
       [] {
         return Load(runtime::WriteContainer(ManifestText(FullManifest(), "binary"), "BINARY"));
       },
       kBinary, "has the hash"},
      {"a binary of another size",
       [] { return Load(runtime::WriteContainer(ManifestText(FullManifest(), "binary"), "b")); },
       kBinary, "has 1 bytes, but its manifest says 6"},
      {"no such file", [&] { return load("none.etca"); }, ETC_ERROR_FILE, "cannot open"},
      {"a folder", [&] { return load("folder"); }, ETC_ERROR_FILE, "it is not a regular file"},
      {"a device",
       [] {
         etc_program* program = nullptr;
         return etc_program_load("/dev/zero", &program);
       },
       ETC_ERROR_FILE, "it is not a regular file"},
      {"a cut file", [&] { return load("cut.etca"); }, kBinary, "its header says"},
      {"a text", [&] { return load("text.etca"); }, kBinary, "does not begin like one"},
      {"a binary without a manifest", [&] { return load("lonely.so"); }, ETC_ERROR_FILE,
       "lonely.so`: cannot open `"},
      {"another file", [&] { return load("weights.safetensors"); }, kBinary,
       "weights.safetensors` is no artifact: it begins like neither one nor the binary of one"},
      {"the manifest of another name", [&] { return load("gather.cubin"); }, kBinary,
       "describes `gather.so`, not `gather.cubin`"},
      {"an empty path",
       [] {
         etc_program* program = nullptr;
         return etc_program_load("", &program);
       },
       ETC_ERROR_FILE, "cannot open ``"},
      {"a binary that changed",
       [&] {
         dir.Write("gather.so", "BINARY");
         return load("gather.json");
       },
       kBinary, "has the hash"},
      {"a binary that is cut",
       [&] {
         dir.Write("gather.so", binary.substr(0, 5));
         return load("gather.so");
       },
       kBinary, "has 5 bytes, but its manifest says 6"},
      {"a binary that is gone",
       [&] {
         std::filesystem::remove(dir.File("gather.so"));
         return load("gather.json");
       },
       ETC_ERROR_FILE, "gather.so"},
      {"an empty manifest",
       [&] {
         dir.Write("gather.json", "");
         return load("gather.json");
       },
       ETC_ERROR_MANIFEST, "is no JSON"},
  });
  CHECK(count >= 28);
}

}  // namespace
}  // namespace etc::test
