// The ranks of a program with a mesh that one process runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/instance_handle.h"
#include "runtime/status.h"
#include "runtime/symmetric_memory.h"

namespace etc::runtime {

class Group {
 public:
  static Status Create(std::shared_ptr<const Program> program, const char* graph, int32_t ranks,
                       std::unique_ptr<Group>* group);

  Status Rank(int32_t rank, etc_instance** instance);
  /// Makes sure that all ranks have the same sizes, and memory for them.
  Status Reserve();
  /// Launches every rank, each from a thread of its own. Null for no streams.
  Status Launch(void* const* streams);

 private:
  explicit Group(std::vector<std::unique_ptr<etc_instance>> ranks);

  std::vector<std::unique_ptr<etc_instance>> ranks_;
  SymmetricMemory memory_;  // freed in front of the ranks' backends
};

}  // namespace etc::runtime
