// The ranks of a program with a mesh that one process runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/instance_handle.h"
#include "runtime/rank_places.h"
#include "runtime/status.h"
#include "runtime/symmetric_memory.h"

namespace etc::runtime {

class Group {
 public:
  /// `devices` has the device of each rank; null: rank 0 is on device 0, and so on.
  static Status Create(std::shared_ptr<const Program> program, const char* graph, int32_t ranks,
                       const int32_t* devices, std::unique_ptr<Group>* group);

  Status Rank(int32_t rank, etc_instance** instance);
  /// Makes sure that all ranks have the same sizes, and memory for them.
  Status Reserve();
  /// Launches every rank, on the host each from a thread of its own. Null for no streams.
  Status Launch(void* const* streams);
  /// Waits for the launches of every rank. Gives the first failure of all.
  Status Synchronize(void* const* streams);

 private:
  Group(std::vector<std::unique_ptr<etc_instance>> ranks, std::vector<RankPlace> places);

  Status CheckFailures();
  bool IsReady() const;
  /// Does what may fail in front of a launch.
  Status Prepare();
  Status CheckStreams(void* const* streams) const;
  /// Launches one.
  Status LaunchRank(size_t rank, void* const* streams);
  Status LaunchOnThreads(void* const* streams);

  std::vector<RankPlace> places_;  // of the ranks; none on the host
  std::vector<std::unique_ptr<etc_instance>> ranks_;
  SymmetricMemory memory_;  // freed in front of the ranks' backends
};

}  // namespace etc::runtime
