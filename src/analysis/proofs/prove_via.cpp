// What is carried inside of an SM stays there: all tasks that notify an element of such an event,
// and all that wait for it, run on one SM, whatever the number of SMs is.
#include <fmt/format.h>

#include "analysis/events_of_sm.h"
#include "analysis/proofs/prover.h"
#include "analysis/sm_places.h"

namespace etc {
namespace {

/// The least number of SMs at which the two places are on different ones.
int64_t FewestSms(int64_t first, int64_t second) {
  int64_t sms = 2;
  while ((first - second) % sms == 0) {
    ++sms;
  }
  return sms;
}

/// `@f[3]`, with the iterations that it is in.
std::string TaskIn(const Unknowns& unknowns, const ProgramCall& call, const Point& point,
                   int instance) {
  std::string text = TaskText(call, point, instance);
  for (size_t i = 0; i < call.repeats.size(); ++i) {
    auto value = point.find(IterationName(i, instance));
    if (value != point.end()) {
      text += fmt::format("{}{} = {}", i == 0 ? " with " : ", ",
                          unknowns.module().symbols[call.repeats[i].var].name, value->second);
    }
  }
  return text;
}

void Report(Prover& prover, const EdgeRelation& notify, const EdgeRelation& wait,
            const Set& apart) {
  const Unknowns& unknowns = prover.unknowns;
  const Event& event = unknowns.module().events[wait.ref->event];
  const ProgramCall& notifier = unknowns.program().calls[notify.call];
  const ProgramCall& waiter = unknowns.program().calls[wait.call];
  std::string via = fmt::format("`%{}` is `via {}`", event.name, Spelling(event.realisation));
  auto point = apart ? FindWitness(unknowns, apart) : std::nullopt;
  std::string message;
  if (point) {
    int64_t first = point->at(SmPlaces::kNotifies), second = point->at(SmPlaces::kWaits);
    int64_t sms = FewestSms(first, second);
    message = fmt::format("{}, but {} waits on SM {} of {} for what {} notifies on SM {}{}", via,
                          TaskIn(unknowns, waiter, *point, 2), second % sms, sms,
                          TaskIn(unknowns, notifier, *point, 1), first % sms,
                          WhereText(unknowns, *point, nullptr, 1));
  } else {
    message = fmt::format(
        "{}, but it is not proved that `@{}` waits on the SM on which `@{}` "
        "notifies",
        via, waiter.device->name, notifier.device->name);
  }
  if (Diagnostic* error = prover.Refuted(prover.report.order, DiagnosticKind::ViaProof,
                                         wait.edge->range, std::move(message))) {
    error->notes.push_back({notify.edge->range, "it is notified here"});
    error->notes.push_back({event.range, fmt::format("`%{}` is declared here", event.name)});
  }
}

}  // namespace

void ProveVia(Prover& prover, const EventRelations& relations) {
  const Module& module = prover.unknowns.module();
  SmPlaces places(prover.unknowns);
  for (const EdgeRelation& wait : relations.waits) {
    if (!IsOfSm(module.events[wait.ref->event])) {
      continue;
    }
    for (const EdgeRelation& notify : relations.notifies) {
      if (notify.ref->event != wait.ref->event) {
        continue;
      }
      prover.context.SetBudget();
      Set apart = places.Apart(notify, wait);
      if (IsEmpty(apart)) {
        ++prover.report.order.proved;
      } else {
        Report(prover, notify, wait, apart);
      }
    }
  }
}

}  // namespace etc
