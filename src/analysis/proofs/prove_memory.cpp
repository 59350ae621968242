// Buffers whose places in the workspace overlap never hold a value at the same time: in program
// order, to which `ProveRaces` holds their uses, all uses of the one come before all of the other,
// and no iteration of a repeat around both reads what the iteration before left in one.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/control_reads.h"
#include "analysis/proofs/buffers.h"
#include "analysis/proofs/prover.h"

namespace etc {
namespace {

class MemoryProof {
 public:
  MemoryProof(Prover& prover, const ProgramAccesses& accesses, Renewal& renewal)
      : prover_(prover),
        unknowns_(prover.unknowns),
        calls_(unknowns_.program().calls),
        renewal_(renewal) {
    for (const ProgramCall& call : calls_) {
      for (const AccessRegion& region : accesses.first[call.index]) {
        std::vector<size_t>& uses = uses_[region.tensor];
        if (uses.empty() || uses.back() != call.index) {
          uses.push_back(call.index);
        }
      }
      AddControlReads(RangeReads(unknowns_, call));
      AddControlReads(EdgeReads(unknowns_, call));
    }
  }

  void Run() {
    for (auto a = uses_.begin(); a != uses_.end(); ++a) {
      for (auto b = std::next(a); b != uses_.end(); ++b) {
        if (prover_.overlaps.Of(a->first, b->first)) {
          bool a_first = a->second.front() <= b->second.front();
          a_first ? Check(a->first, b->first) : Check(b->first, a->first);
        }
      }
    }
  }

 private:
  void AddControlReads(const ControlReads& reads) {
    for (const auto& [tensor, elements] : reads) {
      control_.insert(tensor);
    }
  }

  /// For two buffers that overlap. The first use of `a` comes before that of `b`.
  void Check(TensorId a, TensorId b) {
    const ProgramCall& last_of_a = calls_[uses_[a].back()];
    const ProgramCall& first_of_b = calls_[uses_[b].front()];
    auto name = [&](TensorId tensor) { return unknowns_.module().tensors[tensor].name; };
    auto open = [&](const std::string& reason) {
      prover_.NotProved(
          prover_.report.races, DiagnosticKind::Race, first_of_b.range,
          fmt::format("`%{}` and `%{}` hold no values at the same time", name(a), name(b)),
          "they overlap in the workspace, and " + reason);
    };
    for (TensorId tensor : {a, b}) {
      if (control_.contains(tensor)) {
        open(fmt::format("SMs without a task read `%{}` as well", name(tensor)));
        return;
      }
    }
    if (first_of_b.index == last_of_a.index) {
      open(fmt::format("`@{}` uses both", first_of_b.device->name));
      return;
    }
    if (first_of_b.index < last_of_a.index) {
      open(fmt::format("`@{}` uses `%{}` before `@{}` uses `%{}`", first_of_b.device->name, name(b),
                       last_of_a.device->name, name(a)));
      return;
    }
    for (TensorId tensor : {a, b}) {
      if (!StartsAfresh(tensor, tensor == a ? b : a)) {
        open(fmt::format("an iteration may read what the one before it left in `%{}`",
                         name(tensor)));
        return;
      }
    }
    ++prover_.report.races.proved;
  }

  /// Whether in each repeat around a use of both, what uses `tensor` first writes all of it.
  bool StartsAfresh(TensorId tensor, TensorId other) {
    std::set<NodeId> seen;
    for (size_t use : uses_[tensor]) {
      const ProgramCall& call = calls_[use];
      for (const EnclosingRepeat& repeat : call.repeats) {
        if (seen.insert(repeat.node).second && IsAround(repeat.node, uses_[other]) &&
            !renewal_.StartsAfresh(call, tensor)) {
          return false;
        }
      }
    }
    return true;
  }

  bool IsAround(NodeId repeat, const std::vector<size_t>& uses) const {
    return std::any_of(uses.begin(), uses.end(), [&](size_t use) {
      const auto& around = calls_[use].repeats;
      return std::any_of(around.begin(), around.end(),
                         [&](const EnclosingRepeat& each) { return each.node == repeat; });
    });
  }

  Prover& prover_;
  Unknowns& unknowns_;
  const std::vector<ProgramCall>& calls_;
  Renewal& renewal_;
  std::map<TensorId, std::vector<size_t>> uses_;  // by calls, in program order
  std::set<TensorId> control_;
};

}  // namespace

void ProveMemory(Prover& prover, const ProgramAccesses& accesses, Renewal& renewal) {
  MemoryProof(prover, accesses, renewal).Run();
}

}  // namespace etc
