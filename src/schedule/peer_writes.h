// What calls write at peers, and what follows for events between ranks.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "analysis/proofs/between.h"
#include "schedule/event_plan.h"

namespace etc {

/// Tensors for each call of a graph.
using TensorsOfCalls = std::vector<std::set<TensorId>>;

class PeerWrites {
 public:
  /// `at_peers`: what each call of the program of all ranks writes at peers; empty where no events
  /// for ranks are designed. The program must outlive it.
  PeerWrites(const CallProgram& program, TensorsOfCalls at_peers)
      : program_(program), at_peers_(std::move(at_peers)) {}

  bool ForRanks() const { return !at_peers_.empty(); }
  /// Whether both tasks are on one rank: neither writes at a peer what the other touches.
  bool IsOnOneRank(const Dependence& dependence) const;
  /// Whether no peer at which the call writes is told so yet. Each must be (docs/multi-gpu.md),
  /// whatever else it waits for.
  bool IsUnreceived(const Dependence& dependence, const EventPlan& plan) const;

 private:
  bool Writes(size_t writer, size_t other) const;

  const CallProgram& program_;
  const TensorsOfCalls at_peers_;
};

}  // namespace etc
