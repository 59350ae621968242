// The parameters of a graph that a checkpoint has, in memory, as a launch reads them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/instance.h"
#include "runtime/program.h"
#include "runtime/status.h"
#include "runtime/weights/upload.h"

namespace etc::runtime {

/// How weights are loaded.
struct LoadOptions {
  std::string prefix;           // before each name in the checkpoint
  std::optional<RankOf> share;  // for a graph with a mesh, and only for one
  UploadOptions upload;
};

class Weights {
 public:
  /// The checkpoint is needed no longer than the call takes.
  static Status Load(std::shared_ptr<const Program> program, const char* graph,
                     const Checkpoint& checkpoint, const LoadOptions& options,
                     std::unique_ptr<Weights>* weights);
  ~Weights();
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  int64_t Bytes() const { return bytes_; }
  /// Binds every parameter that the instance's graph has, too. Of a graph with a mesh, the instance
  /// is that of the rank whose part was loaded.
  Status BindTo(Instance* instance) const;

 private:
  /// What a bind needs of a parameter that was loaded.
  struct Loaded {
    const manifest::Param* param = nullptr;
    std::vector<int64_t> shape;  // as it is bound
    void* data = nullptr;
  };

  Weights(std::shared_ptr<const Program> program, std::optional<RankOf> share)
      : program_(std::move(program)), share_(share) {}

  Status Allocate(const WeightPlan& plan, std::vector<void*>* memory);

  std::shared_ptr<const Program> program_;
  std::optional<RankOf> share_;
  std::vector<Loaded> loaded_;
  std::vector<void*> allocations_;
  int64_t bytes_ = 0;
};

}  // namespace etc::runtime
