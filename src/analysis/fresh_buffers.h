// Finds the buffers that carry nothing from one iteration of a repeat to the next.
#pragma once

#include <memory>

#include "ir/module.h"

namespace etc {

/// Looks at a buffer when it is first asked for: reading bodies takes much longer than what else a
/// memory plan needs.
class FreshBuffers {
 public:
  /// Both must outlive it.
  FreshBuffers(const Module& module, const Kernel& kernel);
  ~FreshBuffers();

  /// Whether the first call that uses the tensor writes, in each iteration of the repeats around
  /// it, all that any call touches, and reads nothing that it has not written itself.
  bool Has(TensorId buffer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etc
