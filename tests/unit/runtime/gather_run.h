// A `gather` artifact with tensors to bind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/artifact.h"

namespace etc::test {

/// The tensors of one launch. Row r of the table holds r*100 + column.
struct GatherTensors {
  GatherTensors(int64_t batch_size, int64_t width_size)
      : batch(batch_size),
        width(width_size),
        ids(static_cast<size_t>(batch)),
        table(static_cast<size_t>(10 * width)),
        out(static_cast<size_t>(batch * width), -1.0F) {
    for (int64_t b = 0; b < batch; ++b) {
      ids[static_cast<size_t>(b)] = static_cast<int32_t>((b * 7 + 3) % 10);
    }
    for (int64_t i = 0; i < 10 * width; ++i) {
      table[static_cast<size_t>(i)] = static_cast<float>(i / width * 100 + i % width);
    }
  }

  void Bind(Instance& instance) {
    instance.Bind("ids", ids.data(), ETC_I32, {batch});
    instance.Bind("table", table.data(), ETC_F32, {10, width});
    instance.Bind("out", out.data(), ETC_F32, {batch * width});
  }

  bool IsRight() const {
    const float factor = batch <= 8 ? 2.0F : 3.0F;
    for (int64_t i = 0; i < batch * width; ++i) {
      const int64_t row = ids[static_cast<size_t>(i / width)];
      if (out[static_cast<size_t>(i)] != factor * static_cast<float>(row * 100 + i % width)) {
        return false;
      }
    }
    return true;
  }

  int64_t batch;
  int64_t width;
  std::vector<int32_t> ids;
  std::vector<float> table;
  std::vector<float> out;
};

struct Gather {
  explicit Gather(const nlohmann::json& manifest = GatherManifest())
      : program(WriteArtifact(dir, manifest, GatherBinary())), instance(program) {}
  TempDir dir;
  Program program;
  Instance instance;
};

}  // namespace etc::test
