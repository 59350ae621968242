// The kernels that serve the sizes of a command line, `--graph`, `--dim` and `--value`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// What was asked for, by name.
struct KernelQuery {
  const std::string& graph;  // empty: all
  const std::map<std::string, int64_t>& sizes;
  const std::map<std::string, int64_t>& values;
};

class KernelSelection {
 public:
  KernelSelection(const Module& module, KernelQuery query, Diagnostics& diagnostics)
      : module_(module), query_(query), diagnostics_(diagnostics) {}

  /// The kernels that serve the sizes asked for, in the order of their ranges; empty after an
  /// error.
  std::vector<KernelId> Select();

  /// The sizes asked for, and of the others the least that the kernel serves with them.
  Env SizesOf(KernelId id) const;

 private:
  std::vector<TensorId> TensorsOf(KernelId id) const;
  bool Serves(KernelId id) const;
  bool ValuesAreInRange(KernelId id) const;
  bool IsInRange(KernelId id, TensorId given, int64_t value) const;
  std::vector<TensorId> RangedBy(KernelId id, TensorId tensor) const;
  Interval ValuesOf(KernelId id, TensorId said) const;

  const Module& module_;
  KernelQuery query_;
  Diagnostics& diagnostics_;
};

}  // namespace etc
