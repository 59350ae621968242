// What a task writes or notifies at a peer is there before the peer ends its launch: the task
// notifies an element of each rank at which it writes, and a task waits for each element that is
// notified at a peer; or a task reads each flagged word that is written at a peer.
// docs/multi-gpu.md says why no launch disturbs another then.
#include <fmt/format.h>

#include "analysis/proofs/prover.h"
#include "analysis/sets/flat_axes.h"

namespace etc {
namespace {

class ReceivedProof {
 public:
  ReceivedProof(Prover& prover, const EventRelations& relations, const ProgramAccesses& accesses)
      : prover_(prover), unknowns_(prover.unknowns), relations_(relations), accesses_(accesses) {}

  /// Some task waits for each element that is notified at a peer.
  void Notify(const EdgeRelation& notify) {
    prover_.context.SetBudget();
    Set remote = AtPeers(notify.set);
    if (IsEmpty(remote)) {
      return;
    }
    EventId id = notify.ref->event;
    const Event& event = unknowns_.module().events[id];
    std::vector<std::string> names = ElementNames(event.dims.size());
    Set waited = unknowns_.All() - unknowns_.All();
    bool exact = notify.exact;
    for (const EdgeRelation& wait : relations_.waits) {
      if (wait.ref->event == id) {
        exact = exact && wait.exact;
        waited = wait.exact ? waited | OverSizes(unknowns_, wait.set, names) : waited;
      }
    }
    auto point = Lost(OverSizes(unknowns_, remote, names), waited, exact);
    if (!point) {
      return;
    }
    const ProgramCall& call = unknowns_.program().calls[notify.call];
    if (point->empty()) {
      Open(notify.edge->range, fmt::format("each `%{}` that `@{}` notifies at a peer is waited for",
                                           event.name, call.device->name));
      return;
    }
    Refute(notify.edge->range,
           fmt::format("{} is notified by a peer, and no task waits for it: rank {} may have ended "
                       "the launch before{}",
                       ElementText(event.name, event.dims.size(), *point),
                       point->at(ElementName(0)), WhereText(unknowns_, *point, nullptr, 1)));
  }

  /// A task notifies each rank at which it writes, or writes words there that are read.
  void Write(const ProgramCall& call, const AccessRegion& region) {
    prover_.context.SetBudget();
    Set remote = AtPeers(region.set);
    if (!region.write || IsEmpty(remote)) {
      return;
    }
    if (unknowns_.module().tensors[region.tensor].flagged) {
      WriteWords(call, region, remote);
    } else {
      WriteAndNotify(call, region, remote);
    }
  }

 private:
  /// A reader waits for each word.
  void WriteWords(const ProgramCall& call, const AccessRegion& region, const Set& remote) {
    std::vector<std::string> names = ElementNamesOf(unknowns_, region.tensor);
    Set read = unknowns_.All() - unknowns_.All();
    bool exact = region.exact;
    for (const std::vector<AccessRegion>& regions : accesses_.first) {
      for (const AccessRegion& each : regions) {
        if (!each.write && each.tensor == region.tensor) {
          exact = exact && each.exact;
          read = each.exact ? read | OverSizes(unknowns_, each.set, names) : read;
        }
      }
    }
    auto point = Lost(OverSizes(unknowns_, remote, names), read, exact);
    if (!point) {
      return;
    }
    if (point->empty()) {
      Open(call.range,
           fmt::format("each `%{}` that `@{}` writes at a peer is read",
                       unknowns_.module().tensors[region.tensor].name, call.device->name));
      return;
    }
    Refute(call.range,
           fmt::format("{} is written by a peer, and no task reads it: rank {} may have ended the "
                       "launch before{}",
                       ElementText(unknowns_, region.tensor, *point), point->at(ElementName(0)),
                       WhereText(unknowns_, *point, nullptr, 1)));
  }

  void WriteAndNotify(const ProgramCall& call, const AccessRegion& region, const Set& remote) {
    std::vector<std::string> names = TaskNames(call, 1);
    names.push_back(ElementName(0));
    Set notified = unknowns_.All() - unknowns_.All();
    bool exact = region.exact;
    for (const EdgeRelation& notify : relations_.notifies) {
      if (notify.call == call.index) {
        exact = exact && notify.exact;
        notified = notify.exact ? notified | OverSizes(unknowns_, notify.set, names) : notified;
      }
    }
    auto point = Lost(OverSizes(unknowns_, remote, names), notified, exact);
    if (!point) {
      return;
    }
    const std::string& tensor = unknowns_.module().tensors[region.tensor].name;
    if (point->empty()) {
      Open(call.range, fmt::format("`@{}` notifies each rank at which it writes `%{}`",
                                   call.device->name, tensor));
      return;
    }
    int64_t rank = point->at(ElementName(0));
    Refute(call.range,
           fmt::format("{} writes `%{}` of rank {}, but notifies nothing there: rank {} may have "
                       "ended the launch before{}",
                       TaskText(call, *point, 1), tensor, rank, rank,
                       WhereText(unknowns_, *point, &call, 1)));
  }

  Set AtPeers(const Set& set) const {
    return set & Ne(unknowns_.Param(ElementName(0)), unknowns_.Param(CoordinateName(0, 1)));
  }

  /// Nothing where all is received; else a point of what is not, which has no values where there
  /// may be none.
  std::optional<Point> Lost(const Set& sent, const Set& received, bool exact) {
    Set lost = sent - received;
    if (IsEmpty(lost) || IsEmpty(unknowns_.Close(lost))) {
      ++prover_.report.order.proved;
      return std::nullopt;
    }
    auto point = exact ? FindWitness(unknowns_, unknowns_.Close(lost)) : std::nullopt;
    return point ? point : Point();
  }

  void Open(SourceRange range, std::string what) {
    prover_.NotProved(prover_.report.order, DiagnosticKind::OrderProof, range, std::move(what),
                      "it depends on data, or takes too long");
  }
  void Refute(SourceRange range, std::string message) {
    (void)prover_.Refuted(prover_.report.order, DiagnosticKind::OrderProof, range,
                          std::move(message));
  }

  Prover& prover_;
  Unknowns& unknowns_;
  const EventRelations& relations_;
  const ProgramAccesses& accesses_;
};

}  // namespace

void ProveReceived(Prover& prover, const EventRelations& relations,
                   const ProgramAccesses& accesses) {
  ReceivedProof proof(prover, relations, accesses);
  for (const EdgeRelation& notify : relations.notifies) {
    proof.Notify(notify);
  }
  for (const ProgramCall& call : prover.unknowns.program().calls) {
    for (const AccessRegion& region : accesses.first[call.index]) {
      proof.Write(call, region);
    }
  }
}

}  // namespace etc
