// What launches a graph over tensors in host memory: one instance, or the ranks of a group.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "etc/runtime.hpp"
#include "tensor/tensor_data.h"

namespace etc {

/// The bytes of the outs and inouts after a launch, by name: those of all ranks, one behind the
/// other.
using Results = std::map<std::string, Bytes>;

/// Failures of the runtime come out as etc::Error.
class Launcher {
 public:
  virtual ~Launcher() = default;

  /// Of several, that of rank 0.
  virtual Instance& instance() = 0;

  virtual void SetDim(const std::string& name, int64_t value) = 0;
  /// Of all ranks together, under the dims as they are now.
  virtual std::vector<int64_t> Shape(const std::string& param, int32_t rank) = 0;

  /// Gives a parameter its memory and binds it. Every parameter needs this once before Launch; the
  /// tensor must outlive the launcher.
  virtual void Bind(const TensorData& tensor) = 0;

  /// Has each launch start with a workspace of this byte, so that a result shows which depends on
  /// what no task has written. All is bound, and the dims are known. The program has no flagged
  /// buffers, whose words are zero until they are written: a host target has none.
  virtual void PoisonWorkspace(unsigned char byte) = 0;

  /// Launches once from the tensors' own bytes, which stay as they are. Yields milliseconds.
  virtual double Launch() = 0;

  /// The outs and inouts as the last launch left them.
  virtual Results Fetch() = 0;
  /// The whole tensor, of its results.
  virtual Bytes Whole(const TensorData& tensor, const Bytes& results) = 0;
  /// Says in what ranks differ that should have the same; empty where nothing does.
  virtual std::string Unequal(const TensorData& tensor, const Bytes& results) = 0;
};

}  // namespace etc
