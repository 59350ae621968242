// What an event `via words` puts in order is in order: each task that waits for an element reads a
// word of each task that notifies it. So it has seen that all of these have come as far.
#include <fmt/format.h>

#include "analysis/events_in_words.h"
#include "analysis/proofs/prover.h"

namespace etc {
namespace {

void ProveSeen(Prover& prover, const ProgramAccesses& accesses, const EdgeRelation& notify,
               const EdgeRelation& wait) {
  prover.context.SetBudget();
  if (IsEmpty(UnseenTasks(prover.unknowns, notify, wait, accesses.first[notify.call],
                          accesses.second[wait.call]))) {
    ++prover.report.order.proved;
    return;
  }
  const Module& module = prover.unknowns.module();
  const std::vector<ProgramCall>& calls = prover.unknowns.program().calls;
  const Event& event = module.events[wait.ref->event];
  if (Diagnostic* error = prover.Refuted(
          prover.report.order, DiagnosticKind::ViaProof, wait.edge->range,
          fmt::format("`%{}` is `via words`, but it is not proved that each task of `@{}` reads a "
                      "word of each task of `@{}` that it waits for",
                      event.name, calls[wait.call].device->name,
                      calls[notify.call].device->name))) {
    error->notes.push_back({notify.edge->range, "it is notified here"});
    error->notes.push_back({event.range, fmt::format("`%{}` is declared here", event.name)});
  }
}

}  // namespace

void ProveWords(Prover& prover, const EventRelations& relations, const ProgramAccesses& accesses) {
  for (const EdgeRelation& wait : relations.waits) {
    if (prover.unknowns.module().events[wait.ref->event].realisation != Realisation::Words) {
      continue;
    }
    for (const EdgeRelation& notify : relations.notifies) {
      if (notify.ref->event == wait.ref->event) {
        ProveSeen(prover, accesses, notify, wait);
      }
    }
  }
}

}  // namespace etc
