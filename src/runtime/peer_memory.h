// Memory that the ranks of a group reach at each other: those of one process, or of one process for
// each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/rendezvous.h"
#include "runtime/status.h"

namespace etc::runtime {

/// Calls that return a status concern all ranks: each process makes them in the same order, and the
/// failure of one rank is that of all. It says whose it is.
class PeerMemory {
 public:
  struct Local {
    size_t rank;
    Backend* backend;
  };

  virtual ~PeerMemory() = default;

  size_t ranks() const { return ranks_; }
  /// The ranks of this process.
  const std::vector<Local>& locals() const { return locals_; }

  /// Waits until no rank has work left.
  virtual Status Drain() = 0;
  /// Waits until all have come here.
  virtual Status Meet(Status own) = 0;
  /// For each rank so many bytes, and where this process reaches them.
  virtual Status Allocate(int64_t bytes, std::vector<char*>* places) = 0;
  /// Of one Allocate, when nobody uses it any more. What was not freed goes with the object.
  virtual void Free(const std::vector<char*>& places) = 0;

 protected:
  PeerMemory(size_t ranks, std::vector<Local> locals) : ranks_(ranks), locals_(std::move(locals)) {}

 private:
  const size_t ranks_;
  const std::vector<Local> locals_;
};

/// All ranks in this process: a backend for each. They must outlive the memory.
std::unique_ptr<PeerMemory> MakeLocalMemory(const std::vector<Backend*>& backends);
/// One rank in each process; both must outlive the memory.
std::unique_ptr<PeerMemory> MakeProcessMemory(Backend& backend, Rendezvous& others);

/// The failure of a rank says whose it is.
Status OfRank(size_t rank, Status status);

/// Gives each process the first failure of all ranks, if there is one. It says whose it is.
Status MeetOthers(Rendezvous& others, const Status& own);

}  // namespace etc::runtime
