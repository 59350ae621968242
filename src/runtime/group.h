// The ranks of a program with a mesh: all of them in this process, or one, with a process for each
// other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/instance_handle.h"
#include "runtime/proposal.h"
#include "runtime/rank_places.h"
#include "runtime/rendezvous.h"
#include "runtime/status.h"
#include "runtime/symmetric_memory.h"

namespace etc::runtime {

/// That the graph has a mesh, and is for so many ranks.
Status CheckRanks(const manifest::Graph& graph, int32_t ranks);

struct JoinOptions {
  RendezvousOptions rendezvous;
  int32_t device = 0;            // of a program for a GPU
  bool device_is_given = false;  // by the caller, who may have ranks share one
};

class Group {
 public:
  /// `devices` has the device of each rank; null: rank 0 is on device 0, and so on.
  static Status Create(std::shared_ptr<const Program> program, const char* graph, int32_t ranks,
                       const int32_t* devices, std::unique_ptr<Group>* group);
  /// One rank, which waits for the processes of all others.
  static Status Join(std::shared_ptr<const Program> program, const char* graph,
                     const JoinOptions& options, std::unique_ptr<Group>* group);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

  size_t ranks() const { return memory_.peers().ranks(); }
  /// The rank of this process, where each rank has one; else -1.
  int32_t own_rank() const;
  /// That of this rank, on a GPU; else -1.
  int32_t own_device() const;

  Status Rank(int32_t rank, etc_instance** instance);
  /// A call with each instance of this process, for as long as `uses` live: within it each call
  /// below is made. All of them or none: where one is busy, no rank may begin to wait for it.
  Status Begin(std::vector<Use>* uses) const;
  /// Makes sure that all ranks have the same sizes, and memory for them.
  Status Reserve() { return Reserve(false); }
  /// Launches every rank of this process, on the host each from a thread of its own. Null for no
  /// streams.
  Status Launch(void* const* streams);
  /// Waits for the launches of every rank of this process. Gives the first failure of all.
  Status Synchronize(void* const* streams);
  /// Gives `bytes` bytes of each rank to all, of a group with a process for each.
  Status Gather(const void* own, int64_t bytes, void* all);

 private:
  /// A rank of this process.
  struct Member {
    size_t rank;
    std::unique_ptr<etc_instance> handle;
    Instance& instance() const { return *handle->instance; }
  };

  Group(std::vector<Member> members, std::vector<RankPlace> places,
        std::unique_ptr<Rendezvous> others);

  /// `launches`: what may fail in front of a launch shall do so now.
  Status Reserve(bool launches);
  Status Propose(bool launches, std::vector<Proposal>* all) const;
  Status Agree(const std::vector<Proposal>& all) const;
  Status CheckLaunches(const std::vector<Proposal>& all) const;
  template <class Work>
  Status OnAll(Work work);
  Status CheckFailures();
  bool IsReady() const;
  Status FindProposal(std::optional<Proposal>* proposal);
  Status IsAskedToReserve(bool* asked);
  Status CheckStreams(void* const* streams) const;
  Status LaunchMember(size_t index, void* const* streams);
  Status Explain(Status status);
  Status HoldThreads();
  void ReleaseThreads();
  Status LaunchOnThreads(void* const* streams);
  Status LaunchBeside();
  Status AwaitLaunches(const Member& member, void* stream);

  std::vector<RankPlace> places_;       // of the members; none on the host
  std::unique_ptr<Rendezvous> others_;  // null: all ranks are members
  std::vector<Member> members_;
  SymmetricMemory memory_;            // freed in front of the members' backends
  std::vector<int64_t> agreed_dims_;  // of the last reserve
  bool stands_still_ = false;         // a launch that waits for a rank which is gone
};

}  // namespace etc::runtime
