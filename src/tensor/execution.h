// Launches one graph of a loaded program over tensors in host memory, on the host or on a GPU.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "etc/runtime.hpp"
#include "tensor/tensor_data.h"

namespace etc {

/// The bytes of the outs and inouts after a launch, by name.
using Results = std::map<std::string, std::vector<char>>;

/// Failures of the runtime come out as etc::Error.
class Execution {
 public:
  /// `sms` is 0 for all. The program must outlive the execution.
  Execution(const Program& program, const std::string& graph, int32_t sms);
  ~Execution();

  Instance& instance() { return instance_; }

  /// Gives a parameter its memory and binds it. Every parameter needs this once before Launch; the
  /// tensor must outlive the execution.
  void Bind(const TensorData& tensor);

  /// Has each launch start with a workspace of this byte, so that a result shows which depends on
  /// what no task has written. All is bound, and the dims are known. The program has no flagged
  /// buffers, whose words are zero until they are written: a host target has none.
  void PoisonWorkspace(unsigned char byte);

  /// Launches once from the tensors' own bytes, which stay as they are. Yields milliseconds.
  double Launch();

  /// The outs and inouts as the last launch left them.
  Results Fetch();

 private:
  struct Bound;

  /// What a launch starts from, in the parameter's layout.
  const std::vector<char>& Source(const Bound& bound) const;

  const Program& program_;
  std::string graph_;
  bool on_gpu_;
  std::vector<std::unique_ptr<Bound>> bound_;  // freed after the instance that uses it
  // Poison, where it is asked for: memory of the host or the GPU, and where it begins.
  std::vector<char> host_workspace_;
  std::unique_ptr<void, void (*)(void*)> device_workspace_;
  void* workspace_ = nullptr;
  int64_t workspace_bytes_ = 0;
  unsigned char poison_ = 0;
  Instance instance_;
};

}  // namespace etc
