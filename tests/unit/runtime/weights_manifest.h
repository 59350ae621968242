// A program whose parameters are tensors of a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "etc/weights.h"
#include "runtime/artifact.h"
#include "runtime/checkpoint_file.h"

namespace etc::test {

/// `table` [2, 16, 32] of f32 is `rows.{l}`, one tensor for each index, or `new.{l}`; `tied` is the
/// same again; `out` [2 * 16 * 32 + 1].
inline nlohmann::json WeightsManifest(nlohmann::json manifest) {
  nlohmann::json& params = manifest["graphs"][0]["params"];
  nlohmann::json out = params[2];
  nlohmann::json table = params[1];
  out["shape"] = {2 * 16 * 32 + 1};
  table["shape"] = {2, 16, 32};
  table["sources"] = {"new.{l}", "rows.{l}"};
  nlohmann::json tied = table;
  tied["name"] = "tied";
  params = {table, tied, out};
  manifest["features"].push_back("sources");
  return manifest;
}

/// Copies `table` to `out`, and behind it whether `tied` is the same memory.
inline const char* const kCopyText = R"(
#include <cstdint>
extern "C" void gather_small(const uint64_t* block, int sm, int sms) {
  const float* table = reinterpret_cast<const float*>(block[0]);
  float* out = reinterpret_cast<float*>(block[2]);
  if (sm != 0) return;
  for (int i = 0; i < 1024; ++i) out[i] = table[i];
  out[1024] = block[0] == block[1] ? 1.0F : 0.0F;
}
extern "C" void gather_large(const uint64_t*, int, int) {}
)";

inline std::vector<float> Rows(float first) {
  std::vector<float> rows(size_t{16} * 32);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = first + static_cast<float>(i);
  }
  return rows;
}

inline std::string TwoTensors() {
  return SafetensorsWriter()
      .Add("rows.0", "F32", {16, 32}, Rows(0))
      .Add("rows.1", "F32", {16, 32}, Rows(1000))
      .File();
}

/// What etc_weights_load says, and the weights.
struct Loaded {
  Loaded(const Program& program, const std::string& file,
         const etc_weights_options* options = nullptr) {
    const TempDir dir;
    dir.Write("model.safetensors", file);
    etc_checkpoint* checkpoint = nullptr;
    status = etc_checkpoint_open(dir.File("").c_str(), &checkpoint);
    if (status == ETC_OK) {
      status = etc_weights_load(program.get(), nullptr, checkpoint, options, &weights);
    }
    text = status == ETC_OK ? "" : etc_last_error();
    etc_checkpoint_free(checkpoint);
  }
  ~Loaded() { etc_weights_free(weights); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  etc_status status;
  std::string text;
  etc_weights* weights = nullptr;
};

}  // namespace etc::test
