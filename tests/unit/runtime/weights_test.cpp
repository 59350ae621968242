// Weights of host programs: from a checkpoint to what a launch reads.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/weights_manifest.h"

namespace etc::test {
namespace {

using nlohmann::json;

struct Copy {
  explicit Copy(const json& manifest = WeightsManifest(GatherManifest()))
      : program(WriteArtifact(dir, manifest, Binary())), instance(program) {}

  static const std::string& Binary() {
    static const std::string binary = Compile(kCopyText);
    return binary;
  }
  /// What a launch with the weights reads of `table`.
  std::vector<float> Launch(const etc_weights* weights) {
    std::vector<float> out(1025, -1);
    instance.Bind("out", out.data(), ETC_F32, {1025});
    instance.SetDim("batch", 1);
    instance.SetDim("width", 4);  // of the workspace
    REQUIRE(etc_instance_bind_weights(instance.get(), weights) == ETC_OK);
    instance.Launch();
    return out;
  }

  TempDir dir;
  Program program;
  Instance instance;
};

std::vector<float> Both() {
  std::vector<float> both = Rows(0);
  const std::vector<float> second = Rows(1000);
  both.insert(both.end(), second.begin(), second.end());
  return both;
}

TEST_CASE("tensors of one name for each index become one parameter, and equal ones share memory") {
  Copy copy;
  const Loaded loaded(copy.program, TwoTensors());
  REQUIRE(loaded.text == "");
  std::vector<float> out = copy.Launch(loaded.weights);
  CHECK(out.back() == 1);
  out.pop_back();
  CHECK(out == Both());
  int64_t bytes = 0;
  CHECK(etc_weights_bytes(loaded.weights, &bytes) == ETC_OK);
  CHECK(bytes == 2 * 16 * 32 * 4);
}

TEST_CASE("weights are packed as etc_pack does it") {
  for (const bool swizzle : {false, true}) {
    json manifest = WeightsManifest(GatherManifest());
    for (size_t i = 0; i < 2; ++i) {
      manifest["graphs"][0]["params"][i]["layout"] = {{"tile", {8, 16}}, {"swizzle", swizzle}};
    }
    Copy copy(manifest);
    const Loaded loaded(copy.program, TwoTensors());
    REQUIRE(loaded.text == "");
    const std::vector<float> plain = Both();
    std::vector<float> packed(plain.size());
    copy.program.Pack(nullptr, "table", {2, 16, 32}, plain.data(), packed.data());
    std::vector<float> out = copy.Launch(loaded.weights);
    out.pop_back();
    CHECK(out == packed);
  }
}

TEST_CASE("the first name that the checkpoint has counts, and other dtypes are converted") {
  Copy copy;
  const std::vector<uint16_t> ones(size_t{16} * 32, 0x3f80);  // bf16
  const Loaded loaded(copy.program, SafetensorsWriter()
                                        .Add("rows.0", "F32", {16, 32}, Rows(0))
                                        .Add("new.0", "BF16", {16, 32}, ones)
                                        .Add("new.1", "BF16", {16, 32}, ones)
                                        .File());
  REQUIRE(loaded.text == "");
  CHECK(copy.Launch(loaded.weights) == std::vector<float>(1025, 1.0F));
}

TEST_CASE("weights of which one does not fit leave all bindings as they were") {
  json manifest = WeightsManifest(GatherManifest());
  json& graphs = manifest["graphs"];
  graphs.push_back(graphs[0]);
  graphs[1]["name"] = "tiled";
  graphs[1]["params"][1]["layout"] = {{"tile", {8, 16}}};  // of `tied`
  const TempDir dir;
  dir.Write("model.safetensors", TwoTensors());
  const Program program(WriteArtifact(dir, manifest, Copy::Binary()));
  etc_checkpoint* checkpoint = nullptr;
  etc_weights* weights = nullptr;
  REQUIRE(etc_checkpoint_open(dir.File("").c_str(), &checkpoint) == ETC_OK);
  REQUIRE(etc_weights_load(program.get(), "gather", checkpoint, nullptr, &weights) == ETC_OK);
  Instance instance(program, "tiled");
  std::vector<float> table(size_t{2} * 16 * 32, 7);
  std::vector<float> out(1025, -1);
  instance.Bind("table", table.data(), ETC_F32, {2, 16, 32});
  instance.Bind("tied", table.data(), ETC_F32, {2, 2, 2, 8, 16});
  instance.Bind("out", out.data(), ETC_F32, {1025});
  instance.SetDim("batch", 1);
  instance.SetDim("width", 4);
  CHECK(etc_instance_bind_weights(instance.get(), weights) == ETC_ERROR_BIND);
  instance.Launch();
  CHECK(out.front() == 7);
  CHECK(out.back() == 1);
  etc_weights_free(weights);
  etc_checkpoint_free(checkpoint);
}

TEST_CASE("a file that was cut since it was opened is an error") {
  Copy copy;
  const TempDir dir;
  const std::string file = TwoTensors();
  for (const size_t size : {file.size() - 1, size_t{3}}) {  // in a tensor, in front of all
    dir.Write("model.safetensors", file);
    etc_checkpoint* checkpoint = nullptr;
    REQUIRE(etc_checkpoint_open(dir.File("").c_str(), &checkpoint) == ETC_OK);
    std::filesystem::resize_file(dir.File("model.safetensors"), size);
    etc_weights* weights = nullptr;
    CHECK(etc_weights_load(copy.program.get(), nullptr, checkpoint, nullptr, &weights) ==
          ETC_ERROR_FILE);
    const std::string text = etc_last_error();
    CHECK(text.find("model.safetensors`: it was cut to " + std::to_string(size) +
                    " bytes since it was opened") != std::string::npos);
    CHECK(weights == nullptr);
    etc_checkpoint_free(checkpoint);
  }
}

TEST_CASE("any number of threads loads the same weights") {
  Copy copy;
  etc_weights_options options{};
  options.struct_size = sizeof(options);
  for (const int64_t threads : {1, 3, 40}) {
    options.threads = threads;
    const Loaded loaded(copy.program, TwoTensors(), &options);
    REQUIRE(loaded.text == "");
    CHECK(copy.Launch(loaded.weights)[1023] == 1511);
  }
  options.threads = -1;
  CHECK(Loaded(copy.program, TwoTensors(), &options).text ==
        "`options->threads` is -1, but must be in 0..1024");
}

TEST_CASE("a prefix stands before each name") {
  Copy copy;
  SafetensorsWriter writer;
  writer.Add("text.rows.0", "F32", {16, 32}, Rows(0))
      .Add("text.rows.1", "F32", {16, 32}, Rows(1000));
  CHECK(Loaded(copy.program, writer.File()).status == ETC_ERROR_CHECKPOINT);
  etc_weights_options options{};
  options.struct_size = sizeof(options);
  options.prefix = "text.";
  const Loaded loaded(copy.program, writer.File(), &options);
  REQUIRE(loaded.text == "");
  CHECK(copy.Launch(loaded.weights)[1023] == 1511);
}

TEST_CASE("a checkpoint that does not fit is refused with the first reason") {
  Copy copy;
  const auto refuses = [&](const SafetensorsWriter& writer, const std::string& text) {
    const Loaded loaded(copy.program, writer.File());
    CHECK(loaded.status == ETC_ERROR_CHECKPOINT);
    CHECK(loaded.text.find(text) != std::string::npos);
    CHECK(loaded.weights == nullptr);
  };
  SafetensorsWriter one;
  one.Add("rows.0", "F32", {16, 32}, Rows(0));
  refuses(one, "parameter `table`: tensor `rows.1` is missing (and 1 problem more)");
  refuses(SafetensorsWriter(),
          "parameter `table`: none of the tensors `new.0`, `rows.0` is there (and 1 problem more)");
  refuses(SafetensorsWriter(one).Add("rows.1", "F32", {32, 16}, Rows(0)),
          "tensor `rows.1` has the shape [32, 16], but must have [16, 32]");
  refuses(SafetensorsWriter(one).Add("rows.1", "I32", {16, 32}, Rows(0)),
          "tensor `rows.1` has the dtype I32, which does not become f32");
}

/// What a load of `rows.{l}` says where `tied` is `head.{l}` or, for want of that, the same again.
std::string LoadedBeside(const std::string& config, const SafetensorsWriter& tensors) {
  json manifest = WeightsManifest(GatherManifest());
  manifest["graphs"][0]["params"][0]["sources"] = json::array({"rows.{l}"});
  manifest["graphs"][0]["params"][1]["sources"] = {"head.{l}", "rows.{l}"};
  const Copy copy(manifest);
  const TempDir dir;
  dir.Write("model.safetensors", tensors.File());
  dir.Write("config.json", config);
  etc_checkpoint* checkpoint = nullptr;
  etc_weights* weights = nullptr;
  REQUIRE(etc_checkpoint_open(dir.File("").c_str(), &checkpoint) == ETC_OK);
  const etc_status status =
      etc_weights_load(copy.program.get(), nullptr, checkpoint, nullptr, &weights);
  std::string text = status == ETC_OK ? "" : etc_last_error();
  etc_weights_free(weights);
  etc_checkpoint_free(checkpoint);
  return std::regex_replace(text, std::regex(dir.File("")), "FOLDER/");
}

TEST_CASE(
    "a tensor stands for a missing one unless the folder's configuration says that none does") {
  SafetensorsWriter rows;
  rows.Add("rows.0", "F32", {16, 32}, Rows(0)).Add("rows.1", "F32", {16, 32}, Rows(1000));
  const char* untied = R"({"tie_word_embeddings": false})";
  const std::string text =
      "checkpoint `FOLDER/`, parameter `tied`: tensor `head.0` is missing, and "
      "`FOLDER/config.json` says that `rows.0` does not stand for it: `tie_word_embeddings` is "
      "false";
  CHECK(LoadedBeside(untied, rows) == text);
  CHECK(LoadedBeside(R"({"text_config": {"tie_word_embeddings": false}})", rows) == text);
  for (const char* config :
       {"{}", R"({"tie_word_embeddings": true})", R"({"tie_word_embeddings": null})", "no JSON",
        R"({"tie_word_embeddings": false, "text_config": {}})"}) {
    CAPTURE(config);
    CHECK(LoadedBeside(config, rows) == "");
  }
  rows.Add("head.0", "F32", {16, 32}, Rows(0)).Add("head.1", "F32", {16, 32}, Rows(1000));
  CHECK(LoadedBeside(untied, rows) == "");
}

TEST_CASE("a program without sources says so") {
  const TempDir dir;
  const Program program(WriteArtifact(dir, GatherManifest(), GatherBinary()));
  const Loaded loaded(program, TwoTensors());
  CHECK(loaded.status == ETC_ERROR_CHECKPOINT);
  CHECK(loaded.text == "no parameter of graph `gather` names a tensor of a checkpoint (`from`)");
}

TEST_CASE("progress ends at the total, and may stop the load") {
  Copy copy;
  std::vector<std::pair<int64_t, int64_t>> seen;
  etc_weights_options options{};
  options.struct_size = sizeof(options);
  options.user = &seen;
  options.progress = [](void* user, int64_t done, int64_t total) {
    static_cast<decltype(seen)*>(user)->emplace_back(done, total);
    return 0;
  };
  CHECK(Loaded(copy.program, TwoTensors(), &options).status == ETC_OK);
  REQUIRE(!seen.empty());
  CHECK(seen.back() == std::pair<int64_t, int64_t>(4096, 4096));
  options.progress = [](void*, int64_t, int64_t) { return 1; };
  CHECK(Loaded(copy.program, TwoTensors(), &options).status == ETC_ERROR_CANCELLED);
}

TEST_CASE("weights are bound to instances of their own program alone") {
  Copy copy, other;
  const Loaded loaded(copy.program, TwoTensors());
  CHECK(etc_instance_bind_weights(other.instance.get(), loaded.weights) == ETC_ERROR_ARGUMENT);
}

}  // namespace
}  // namespace etc::test
