// Launches one graph of a loaded program over tensors in host memory, on the host or on a GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensor/launcher.h"

namespace etc {

class Execution : public Launcher {
 public:
  /// `sms` is 0 for all; ETC_ERROR_NO_DEVICE where the device has fewer. The program must outlive
  /// the execution.
  Execution(const Program& program, const std::string& graph, int32_t sms);
  /// Of an instance of the graph, which is on a device other than the current one where it says so.
  Execution(const Program& program, const std::string& graph, int32_t sms, Instance instance,
            std::optional<int32_t> device = {});
  ~Execution() override;

  Instance& instance() override { return instance_; }
  void SetDim(const std::string& name, int64_t value) override { instance_.SetDim(name, value); }
  std::vector<int64_t> Shape(const std::string& param, int32_t rank) override {
    return instance_.Shape(param, rank);
  }
  void Bind(const TensorData& tensor) override;
  void PoisonWorkspace(unsigned char byte) override;
  double Launch() override;
  Results Fetch() override;
  Bytes Whole(const TensorData&, const Bytes& results) override { return results; }
  std::string Unequal(const TensorData&, const Bytes&) override { return ""; }

  /// What stands in front of a launch: the tensors' own bytes, and poison in the workspace.
  void Refill();

 private:
  struct Bound;

  /// In front of work on the device.
  void UseDevice() const;
  /// What a launch starts from, in the parameter's layout.
  const Bytes& Source(const Bound& bound) const;

  const Program& program_;
  std::string graph_;
  bool on_gpu_;
  std::optional<int32_t> device_;
  std::vector<std::unique_ptr<Bound>> bound_;  // freed after the instance that uses it
  // Poison, where it is asked for: memory of the host or the GPU, and where it begins.
  Bytes host_workspace_;
  std::unique_ptr<void, void (*)(void*)> device_workspace_;
  void* workspace_ = nullptr;
  int64_t workspace_bytes_ = 0;
  unsigned char poison_ = 0;
  Instance instance_;
};

}  // namespace etc
