// Bodies and edges stay in bounds, and a wait stands after all that it waits for.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/proofs/prover.h"
#include "analysis/proofs/wait_cycle.h"
#include "analysis/sets/task_pairs.h"
#include "ir/printer.h"

namespace etc {
namespace {

/// What is to be in a range: `index 1 of `%x``.
std::string Subject(const Module& module, const ProgramCall& call, const IndexUse& use) {
  switch (use.kind) {
    case IndexUse::Kind::Element:
      return fmt::format("index {} of `%{}`", use.axis, module.tensors[use.tensor].name);
    case IndexUse::Kind::Scalar:
      return fmt::format("`{}` of `@{}`", module.symbols[call.device->scalars[use.axis]].name,
                         call.device->name);
    case IndexUse::Kind::TopK:
      return "`topk`";
    case IndexUse::Kind::Divisor:
    case IndexUse::Kind::Places:
      return fmt::format("`{}`", Print(module, use.operation));
  }
  ETC_CHECK(!"unknown kind of index");
}

/// What a point outside of the range says: `index 1 of `%x` is 4, outside of 0 .. 4`.
std::string Finding(const Module& module, const ProgramCall& call, const IndexUse& use,
                    const Point& point) {
  int64_t value = point.at("index@"), extent = point.at("extent@");
  if (use.kind == IndexUse::Kind::TopK) {
    return fmt::format("`topk` takes {} of {} elements", value + 1, std::max<int64_t>(extent, 0));
  }
  return fmt::format("{} is {}, outside of {} .. {}", Subject(module, call, use), value,
                     point.at("least@"), extent);
}

/// The place of the other half.
Note DeclarationOf(const Module& module, const ProgramCall& call, const IndexUse& use) {
  if (use.kind == IndexUse::Kind::Scalar) {
    const Symbol& scalar = module.symbols[call.device->scalars[use.axis]];
    return {scalar.range, fmt::format("`{}` is declared here", scalar.name)};
  }
  const Tensor& tensor = module.tensors[use.tensor];
  return {tensor.range, fmt::format("`%{}` is declared here", tensor.name)};
}

void ReportOperand(Prover& prover, const ProgramCall& call, const IndexUse& use,
                   const std::optional<Point>& point, const Set& outside) {
  const Unknowns& unknowns = prover.unknowns;
  const Module& module = unknowns.module();
  SourceRange range = module.RangeOf(use.operation);
  std::string operation = Subject(module, call, use);
  bool divides = use.kind == IndexUse::Kind::Divisor;
  if (!point) {
    prover.NotProved(prover.report.bounds, DiagnosticKind::OperandProof, range,
                     divides ? fmt::format("the divisor of {} is not 0", operation)
                             : operation + " shifts by 0 to 63 places",
                     ReasonOf(unknowns, outside));
    return;
  }
  std::string fault =
      divides ? "divides by zero"
              : fmt::format("shifts by {} places, outside of 0 .. 64", point->at("index@"));
  Diagnostic* error =
      prover.Refuted(prover.report.bounds, DiagnosticKind::OperandProof, range,
                     fmt::format("{} {}, in {}{}", operation, fault, TaskText(call, *point, 1),
                                 WhereText(unknowns, *point, &call, 1)));
  if (error != nullptr) {
    error->notes.push_back({call.range, fmt::format("`@{}` is called here", call.device->name)});
  }
}

void ProveIndex(Prover& prover, const ProgramCall& call, const IndexUse& use) {
  const Unknowns& unknowns = prover.unknowns;
  prover.context.SetBudget();
  if (use.inside) {
    ++prover.report.bounds.proved;
    return;
  }
  Set outside = use.kind == IndexUse::Kind::Divisor ? Eq(use.value, unknowns.Constant(0))
                                                    : Le(use.extent, use.value);
  if (use.kind != IndexUse::Kind::Divisor && !use.at_least) {
    outside = Lt(use.value, use.least) | outside;
  }
  // Mostly the ranges of the variables in it say enough.
  if (IsEmpty(outside) || IsEmpty(unknowns.CloseVariables(outside))) {
    ++prover.report.bounds.proved;
    return;
  }
  outside = *use.scope & outside;
  if (IsEmpty(outside)) {
    ++prover.report.bounds.proved;
    return;
  }
  outside = unknowns.WithAxioms(unknowns.Close(outside));
  if (IsEmpty(outside)) {
    ++prover.report.bounds.proved;
    return;
  }
  const Module& module = unknowns.module();
  Set with_value = outside & Eq(unknowns.Param("index@"), use.value) &
                   Eq(unknowns.Param("least@"), use.least) &
                   Eq(unknowns.Param("extent@"), use.extent);
  auto point = use.exact ? FindWitness(unknowns, with_value) : std::nullopt;
  SourceRange range = module.RangeOf(use.index);
  if (use.operation) {
    ReportOperand(prover, call, use, point, outside);
    return;
  }
  if (!point) {
    prover.NotProved(prover.report.bounds, DiagnosticKind::BoundsProof, range,
                     use.kind == IndexUse::Kind::TopK
                         ? "`topk` takes no more elements than there are"
                         : Subject(module, call, use) + " is in bounds",
                     ReasonOf(unknowns, outside));
    return;
  }
  Diagnostic* error =
      prover.Refuted(prover.report.bounds, DiagnosticKind::BoundsProof, range,
                     fmt::format("{}, in {}{}", Finding(module, call, use, *point),
                                 TaskText(call, *point, 1), WhereText(unknowns, *point, &call, 1)));
  if (error != nullptr) {
    error->notes.push_back({call.range, fmt::format("`@{}` is called here", call.device->name)});
    if (use.kind != IndexUse::Kind::TopK) {
      error->notes.push_back(DeclarationOf(module, call, use));
    }
    std::ranges::move(InputNotes(unknowns, *point), std::back_inserter(error->notes));
  }
}

void ReportCycle(Prover& prover, const std::vector<WaitStep>& cycle, const Point& point) {
  const Unknowns& unknowns = prover.unknowns;
  auto callee = [&](const EdgeRelation* edge) {
    return "`@" + unknowns.program().calls[edge->call].device->name + "`";
  };
  std::string calls = callee(cycle[0].wait);
  for (const WaitStep& step : cycle) {
    calls += ", " + callee(step.notify);
  }
  std::string message = cycle.size() == 1 ? callee(cycle[0].wait) + " waits for itself"
                                          : "calls wait for each other in a cycle: " + calls;
  Diagnostic* error =
      prover.Refuted(prover.report.order, DiagnosticKind::OrderProof, cycle[0].wait->edge->range,
                     message + WhereText(unknowns, point, nullptr, 1));
  for (size_t i = 0; error != nullptr && i < cycle.size(); ++i) {
    const TaskEdge& wait = *cycle[i].wait->edge;
    const std::string& event = unknowns.module().events[wait.ref->event].name;
    error->notes.push_back(
        {wait.range, fmt::format("{} waits for `%{}`, which {} notifies", callee(cycle[i].wait),
                                 event, callee(cycle[i].notify))});
  }
}

/// The pairs of a notifier and a waiter of which the waiter comes first, or both are one: the
/// notifier's iterations of the repeats around both are above the waiter's, or the same and it does
/// not stand before.
Map Late(const Map& pairs, size_t repeats, bool notifier_stands_before) {
  Map before;
  for (size_t i = 0; i < repeats; ++i) {
    Map part = InLaterIteration(pairs, i);
    before = before ? before | part : part;
  }
  return pairs - (notifier_stands_before ? before | InOneIteration(pairs, repeats) : before);
}

/// Hands on what is proved of bodies, and takes what is known of them already.
class BodyRecord {
 public:
  explicit BodyRecord(Prover& prover) : prover_(prover) {}

  std::optional<CallRegions> Begin(const ProgramCall& call) {
    if (prover_.known != nullptr) {
      if (std::optional<BodyProof> proof = prover_.known->Find(call)) {
        prover_.report.bounds.proved += proof->bounds;
        prover_.report.iterations.proved += proof->iterations;
        prover_.report.coverage.proved += proof->coverage;
        if (prover_.found != nullptr) {
          prover_.found->emplace(call.index, *proof);
        }
        return std::move(proof->regions);
      }
    }
    before_ = prover_.report;
    return std::nullopt;
  }

  void End(const ProgramCall& call, const CallRegions& regions) {
    if (prover_.found == nullptr || !before_) {
      return;
    }
    const ProofReport& now = prover_.report;
    if (now.NotProved() == before_->NotProved() && now.Refuted() == before_->Refuted()) {
      prover_.found->emplace(call.index,
                             BodyProof{regions, now.bounds.proved - before_->bounds.proved,
                                       now.iterations.proved - before_->iterations.proved,
                                       now.coverage.proved - before_->coverage.proved});
    }
    before_.reset();
  }

 private:
  Prover& prover_;
  std::optional<ProofReport> before_;  // the body that is being read
};

/// What is looked at in each body by itself.
void LookAtBodies(Prover& prover, BodyReader& reader) {
  reader.on_index = [&](const ProgramCall& call, const IndexUse& use) {
    ProveIndex(prover, call, use);
  };
  reader.on_loop = [&](const ProgramCall& call, const BodyLoops& loops, Converter& converter) {
    ProveIterations(prover, call, loops, converter);
  };
  reader.on_own_read = [&](const ProgramCall& call, const BodyRead& read) {
    ProveOwnRead(prover, call, read);
  };
}

}  // namespace

void ProveEdge(Prover& prover, const ProgramCall& call, const EdgeRelation& relation) {
  const Unknowns& unknowns = prover.unknowns;
  const Event& event = unknowns.module().events[relation.edge->ref->event];
  for (size_t i = 0; i < relation.indices.size(); ++i) {
    prover.context.SetBudget();
    const EdgeRelation::Index& index = relation.indices[i];
    Set used = relation.scope & Le(index.lo, index.last);
    Set low = used & Lt(index.lo, unknowns.Constant(0));
    Set high = used & Le(index.extent, index.last);
    if (IsEmpty(low) && IsEmpty(high)) {
      ++prover.report.bounds.proved;
      continue;
    }
    low = low & Eq(unknowns.Param("index@"), index.lo);
    high = high & Eq(unknowns.Param("index@"), index.last);
    Set outside = unknowns.Close((low | high) & Eq(unknowns.Param("extent@"), index.extent));
    if (IsEmpty(outside)) {
      ++prover.report.bounds.proved;
      continue;
    }
    auto point = FindWitness(unknowns, outside);
    if (!point) {
      prover.NotProved(prover.report.bounds, DiagnosticKind::BoundsProof, relation.edge->range,
                       fmt::format("index {} of event `%{}` is in bounds", i, event.name),
                       ReasonOf(unknowns, outside));
      continue;
    }
    Diagnostic* error = prover.Refuted(
        prover.report.bounds, DiagnosticKind::BoundsProof, relation.edge->range,
        fmt::format("index {} of event `%{}` is {}, outside of 0 .. {}, in {}{}", i, event.name,
                    point->at("index@"), point->at("extent@"), TaskText(call, *point, 1),
                    WhereText(unknowns, *point, &call, 1)));
    if (error != nullptr) {
      error->notes.push_back({event.range, fmt::format("`%{}` is declared here", event.name)});
    }
  }
}

ProgramAccesses ProveBodies(Prover& prover, const EventRelations& relations,
                            std::set<AskedOf>& kept) {
  BodyReader reader;
  LookAtBodies(prover, reader);
  ComputedValues values(prover.unknowns);
  reader.on_store = [&](TensorId tensor, const Set& stored) { values.Add(tensor, stored); };
  BodyRecord record(prover);
  reader.on_body = [&](const ProgramCall& call) { return record.Begin(call); };
  reader.on_end = [&](const ProgramCall& call, const CallRegions& regions) {
    record.End(call, regions);
    values.End(call);
  };
  ProgramAccesses accesses = AccessesOf(prover.unknowns, &reader);
  kept = values.KeptPreconditions();
  for (const auto* group : {&relations.waits, &relations.notifies}) {
    for (const EdgeRelation& relation : *group) {
      ProveEdge(prover, prover.unknowns.program().calls[relation.call], relation);
    }
  }
  return accesses;
}

ProgramAccesses ReadAhead(ReadBodies& read) {
  Unknowns& unknowns = read.unknowns;
  Overlaps overlaps(unknowns);
  ProofReport report;
  Diagnostics unsaid;
  std::set<std::pair<DiagnosticKind, uint32_t>> reported;
  bool sizes_may_tell = false;
  Prover prover{unknowns, unknowns.context(), overlaps, report,  unsaid,      reported,
                false,    sizes_may_tell,     false,    nullptr, &read.bodies};
  BodyReader reader;
  LookAtBodies(prover, reader);
  reader.on_store = [](TensorId, const Set&) {};  // to integers, of which nothing is handed on
  BodyRecord record(prover);
  reader.on_body = [&](const ProgramCall& call) { return record.Begin(call); };
  reader.on_end = [&](const ProgramCall& call, const CallRegions& regions) {
    record.End(call, regions);
  };
  return AccessesOf(unknowns, [&](const ProgramCall& call) {
    return MayBeKnown(unknowns, call) ? &reader : nullptr;
  });
}

/// Every SM runs the calls in program order. If what notifies an element stands before what waits
/// for it, the first wait that never ends would be for a notify of an earlier call, which by then
/// has happened.
void ProveOrder(Prover& prover, const EventRelations& relations) {
  const Unknowns& unknowns = prover.unknowns;
  const std::vector<ProgramCall>& calls = unknowns.program().calls;
  std::set<const TaskEdge*> explained;  // waits that a reported cycle has
  for (const EdgeRelation& wait : relations.waits) {
    for (const EdgeRelation& notify : relations.notifies) {
      const ProgramCall& waiter = calls[wait.call];
      const ProgramCall& notifier = calls[notify.call];
      if (notify.edge->ref->event != wait.edge->ref->event) {
        continue;
      }
      prover.context.SetBudget();
      Map pairs(isl_map_apply_range(notify.elements.copy(), isl_map_reverse(wait.elements.copy())));
      size_t repeats = CommonRepeats(waiter, notifier);
      if (repeats > 0) {
        pairs = Late(pairs, repeats, waiter.index > notifier.index);
      }
      bool late = repeats > 0 || waiter.index <= notifier.index;
      if (!late || IsEmpty(pairs)) {
        ++prover.report.order.proved;
        continue;
      }
      if (explained.contains(wait.edge)) {
        ++prover.report.order.refuted;
        continue;
      }
      const Event& event = unknowns.module().events[wait.edge->ref->event];
      std::string what = fmt::format("`@{}` waits for `%{}`", waiter.device->name, event.name);
      Set sizes(isl_map_params(pairs.copy()));
      auto point =
          wait.exact && notify.exact ? FindWitness(unknowns, unknowns.Close(sizes)) : std::nullopt;
      if (!point) {
        prover.NotProved(prover.report.order, DiagnosticKind::OrderProof, wait.edge->range,
                         what + " after all that notify it",
                         ReasonOf(unknowns, wait.exact ? notify.set : wait.set));
        continue;
      }
      auto cycle = FindWaitCycle(unknowns, relations, {&wait, &notify}, pairs, *point);
      if (!cycle.empty()) {
        ReportCycle(prover, cycle, *point);
        for (const WaitStep& step : cycle) {
          explained.insert(step.wait->edge);
        }
        continue;
      }
      Diagnostic* error =
          prover.Refuted(prover.report.order, DiagnosticKind::OrderProof, wait.edge->range,
                         fmt::format("{}, which a later call notifies{}", what,
                                     WhereText(unknowns, *point, nullptr, 1)));
      if (error != nullptr) {
        error->notes.push_back({notify.edge->range, fmt::format("`@{}` notifies it here; a call "
                                                                "stands after all that it waits "
                                                                "for",
                                                                notifier.device->name)});
      }
    }
  }
}

}  // namespace etc
