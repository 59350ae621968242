// Makes tensors of versions of buffers that each iteration of a repeat writes anew: they get one
// more axis, and each element is written once in a launch.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace etc {

/// One operand of a share that is a given buffer.
struct BufferUse {
  size_t site;  // in the shares of the kernel
  size_t arg;
  Access access;
};

/// How a buffer becomes a tensor of versions.
struct Versions {
  NodeId repeat;         // that writes a version in each iteration; absent: there is one version
  bool initial = false;  // version 0 is written before the repeat
  size_t writer = 0;     // the site in the repeat
};

using VersionsOf = std::map<TensorId, Versions>;

class BufferVersions {
 public:
  BufferVersions(Module& module, const std::vector<ShareSite>& sites)
      : module_(module), sites_(sites) {}

  /// Of a buffer with these uses, in program order: at most one share before the repeat and one in
  /// it write it, and none reads it earlier.
  std::optional<Versions> Find(const std::vector<BufferUse>& uses) const;

  ExprId NumberOf(const Versions& versions);

  /// Makes the buffer a tensor of versions; one that has only one stays as it is.
  void Privatise(TensorId buffer, const Versions& versions, const std::vector<BufferUse>& uses);
  /// Takes back what Privatise did.
  void Rejoin(TensorId buffer, const std::vector<BufferUse>& uses);

 private:
  bool HasIterations(NodeId repeat) const;

  Module& module_;
  const std::vector<ShareSite>& sites_;
};

}  // namespace etc
