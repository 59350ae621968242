// The events of a graph that has none, from what its tasks read and write: for one device, or for
// each of several ranks.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/ranks.h"
#include "ir/loader_reads.h"
#include "ir/walk.h"
#include "schedule/control_versions.h"
#include "schedule/derivation.h"
#include "schedule/lower.h"
#include "schedule/range_dependences.h"

namespace etc {
namespace {

/// What the loader of each call reads behind waits.
TensorsOfCalls ReadBehindWaits(const Module& module, const CallProgram& program) {
  TensorsOfCalls all(program.calls.size());
  for (const ProgramCall& call : program.calls) {
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (IsReadBehindWait(module, *call.device, call.device->params[i], call.args[i].tensor)) {
        all[call.index].insert(call.args[i].tensor);
      }
    }
  }
  return all;
}

void Derive(Module& module, Graph& graph, const ScheduleOptions& options,
            Diagnostics& diagnostics) {
  std::vector<CallProgram> programs = MakeCallPrograms(module, graph);
  TensorsOfCalls behind_waits = ReadBehindWaits(module, programs.front());
  DerivedEvents derived(module, std::move(programs), options, std::move(behind_waits));
  derived.plan().Write(graph);
  if (options.remarks) {
    derived.plan().Remark(diagnostics);
    derived.Remark(graph, diagnostics);
  }
  if (options.bodies != nullptr) {
    derived.HandOn(*options.bodies);
  }
}

/// What each call of a graph writes at peers.
TensorsOfCalls WrittenAtPeers(const Module& module, const CallProgram& program) {
  TensorsOfCalls all(program.calls.size());
  for (const ProgramCall& call : program.calls) {
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (module.tensors[call.device->params[i]].symmetric) {
        all[call.index].insert(call.args[i].tensor);
      }
    }
  }
  return all;
}

/// Whether the events order all that conflicts, on so many ranks.
bool OrderAll(const Module& module, GraphId graph, int64_t ranks) {
  const Module joined = JoinRanks(AtRanks(module, ranks), ranks);
  const std::vector<CallProgram> programs = MakeCallPrograms(joined, joined.graphs[graph]);
  RangeDependences dependences(joined, programs);
  for (const ProgramCall& from : programs.front().calls) {
    for (const ProgramCall& to : programs.front().calls) {
      for (const Dependence& each : DependencesBetween(from, to)) {
        if (dependences.Exists(each) && !dependences.IsOrdered(each)) {
          return false;
        }
      }
    }
  }
  return true;
}

/// The events of a program with a mesh: those of the program of all ranks, for the largest number
/// of them, as each rank has them. They serve the other numbers, which is looked at.
bool DeriveForRanks(Module& module, GraphId id, const ScheduleOptions& options,
                    Diagnostics& diagnostics) {
  const std::vector<int64_t>& numbers = module.mesh->values;
  Graph& graph = module.graphs[id];
  std::vector<CallProgram> programs = MakeCallPrograms(module, graph);
  TensorsOfCalls behind_waits = ReadBehindWaits(module, programs.front());
  TensorsOfCalls at_peers = WrittenAtPeers(module, programs.front());
  Module joined = JoinRanks(AtRanks(module, numbers.back()), numbers.back());
  ScheduleOptions of_joined = options;
  of_joined.bodies = nullptr;  // the proofs have modules of their own
  DerivedEvents derived(joined, MakeCallPrograms(joined, joined.graphs[id]), of_joined,
                        std::move(behind_waits), std::move(at_peers));
  const Axis ranks{
      module.rank,
      {},
      numbers.size() == 1 ? MakeInt(module, numbers.front()) : MakeRef(module, module.mesh->size)};
  for (CallProgram& program : programs) {
    program.of_ranks = true;
    for (ProgramCall& call : program.calls) {
      call.axes.insert(call.axes.begin(), ranks);
    }
  }
  EventPlan plan(module, programs, numbers.back());
  for (PlannedEvent planned : derived.plan().events) {
    const Event& event = joined.events[planned.event];
    planned.event = plan.NewEvent(event.name, event.range);
    plan.events.push_back(std::move(planned));
  }
  plan.Apply();
  plan.Write(graph);
  if (options.remarks) {
    plan.Remark(diagnostics);
    derived.Remark(graph, diagnostics);
  }
  for (size_t i = 0; i + 1 < numbers.size(); ++i) {
    if (!OrderAll(module, id, numbers[i])) {
      diagnostics.Error(DiagnosticKind::Unsupported, graph.range,
                        fmt::format("the events derived for `@{}` on {} ranks do not serve {}: "
                                    "write them, or have `-D {}={}` derive them for these alone",
                                    graph.name, numbers.back(), numbers[i],
                                    module.symbols[module.mesh->size].name, numbers[i]));
      return false;
    }
  }
  return true;
}

}  // namespace

bool DeriveEvents(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics) {
  for (const Item& item : module.items) {
    const auto* id = std::get_if<GraphId>(&item);
    if (id == nullptr || HasEvents(module, module.graphs[*id])) {
      continue;
    }
    VersionControlBuffers(module, module.graphs[*id], options.remarks, diagnostics);
    if (!module.mesh) {
      Derive(module, module.graphs[*id], options, diagnostics);
    } else if (!DeriveForRanks(module, *id, options, diagnostics)) {
      return false;
    }
  }
  return true;
}

}  // namespace etc
