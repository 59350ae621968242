// When a tensor that a launch computes has all of its elements.
#pragma once

#include <memory>

#include "ir/module.h"

namespace etc {

/// Tells when the tensors of a kernel are complete, if its events count their notifies.
class Completeness {
 public:
  Completeness(const Module& module, const Kernel& kernel);
  ~Completeness();

  /// Whether all that writes the tensor in a launch comes before what follows the first so many
  /// waits of the share.
  bool Before(NodeId share, size_t waits, TensorId tensor) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etc
