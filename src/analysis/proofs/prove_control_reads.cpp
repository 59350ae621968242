// Task ranges, counts and elements of events that are read from tensors, are read after those have
// been written: the range after the waits that hold for all tasks, the rest of a wait after the
// waits before it, that of a notify after all waits.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/control_reads.h"
#include "analysis/proofs/prover.h"

namespace etc {
namespace {

class ControlReadsProof {
 public:
  ControlReadsProof(Prover& prover, TaskOrder& order)
      : prover_(prover),
        unknowns_(prover.unknowns),
        calls_(unknowns_.program().calls),
        order_(order),
        writers_(WritersOf(unknowns_)) {}

  void Run() {
    for (const ProgramCall& call : calls_) {
      size_t all = call.waits.size();
      Check(call, RangeReads(unknowns_, call), call.range, "its task range", Read::Before,
            [&](size_t wait) { return wait < all && call.waits[wait].common; });
      for (size_t k = 0; k < all; ++k) {
        Check(call, EdgeReads(unknowns_, call, call.waits[k], true), call.waits[k].range,
              "what it waits for", Read::Before, [&](size_t wait) { return wait < k; });
      }
      for (const TaskEdge& notify : call.notifies) {
        Check(call, EdgeReads(unknowns_, call, notify, false), notify.range, "what it notifies",
              Read::Behind, [](size_t) { return true; });
      }
    }
  }

  /// Of who arrives where tensors say, behind the waits for these.
  void RunArrivals() {
    for (const ProgramCall& call : calls_) {
      if (!call.arriving) {
        continue;
      }
      for (size_t k = 0; k < call.waits.size(); ++k) {
        Check(call, EdgeReads(unknowns_, call, call.waits[k], true), call.waits[k].range,
              "what it waits for under `after`", Read::Behind,
              [&](size_t wait) { return wait < k; });
      }
      for (const TaskEdge& arrival : call.after_arrivals) {
        Check(call, EdgeReads(unknowns_, call, arrival, true), arrival.range, "where it arrives",
              Read::Behind, [](size_t) { return true; });
      }
    }
  }

 private:
  /// When a task reads: before it has written anything, or behind that.
  enum class Read { Before, Behind };

  /// `counts`: which of the call's waits come before the tensors are read.
  template <class F>
  void Check(const ProgramCall& call, const ControlReads& reads, SourceRange range,
             const std::string& what, Read when, const F& counts) {
    for (const auto& read : reads) {
      bool stable = unknowns_.IsStable(read.first);
      for (size_t writer : writers_[read.first]) {
        bool own = writer == call.index && call.repeats.empty();
        if (own && when == Read::Behind) {
          continue;  // a task's own elements
        }
        prover_.context.SetBudget();
        bool before = order_.FollowsProgramOrder() && writer < call.index;
        if (before || (stable && !own &&
                       FollowsWrites(unknowns_, order_, calls_[writer], call, read, counts))) {
          ++prover_.report.races.proved;
          continue;
        }
        prover_.NotProved(
            prover_.report.races, DiagnosticKind::Race, range,
            fmt::format("`@{}` reads {} from `%{}` in order with `@{}`", call.device->name, what,
                        unknowns_.module().tensors[read.first].name, calls_[writer].device->name),
            own      ? "its own tasks write it"
            : stable ? "no chain of events between all of their tasks is found"
                     : "it is written more than once, or read before it is written");
      }
    }
  }

  Prover& prover_;
  Unknowns& unknowns_;
  const std::vector<ProgramCall>& calls_;
  TaskOrder& order_;
  std::map<TensorId, std::set<size_t>> writers_;
};

}  // namespace

void ProveControlReads(Prover& prover, TaskOrder& order) { ControlReadsProof(prover, order).Run(); }

void ProveArrivalReads(Prover& prover, TaskOrder& order) {
  ControlReadsProof(prover, order).RunArrivals();
}

}  // namespace etc
