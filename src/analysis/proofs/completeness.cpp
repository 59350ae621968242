#include "analysis/proofs/completeness.h"

#include <algorithm>

#include "analysis/control_reads.h"

namespace etc {

struct Completeness::State {
  State(const Module& module, const Kernel& kernel)
      : program(MakeCallProgram(module, kernel)),
        unknowns(module, program, context),
        relations(MakeEventRelations(unknowns)),
        events(program.events.begin(), program.events.end()),
        writers(WritersOf(unknowns)) {}

  CallProgram program;
  IslContext context;
  Unknowns unknowns;
  EventRelations relations;
  std::set<EventId> events;
  std::map<TensorId, std::set<size_t>> writers;
};

Completeness::Completeness(const Module& module, const Kernel& kernel)
    : state_(std::make_unique<State>(module, kernel)) {}

Completeness::~Completeness() = default;

bool Completeness::Before(NodeId share, size_t waits, TensorId tensor) const {
  State& state = *state_;
  const std::vector<ProgramCall>& calls = state.program.calls;
  auto call = std::find_if(calls.begin(), calls.end(),
                           [&](const ProgramCall& each) { return each.node == share; });
  auto writers = state.writers.find(tensor);
  if (writers == state.writers.end()) {
    return true;
  }
  return call != calls.end() && state.unknowns.IsStable(tensor) &&
         std::all_of(writers->second.begin(), writers->second.end(), [&](size_t writer) {
           return writer < call->index &&
                  (state.program.launches ||
                   FollowsWrites(state.unknowns, state.relations, state.events, calls[writer],
                                 *call, {tensor, {{}}}, [&](size_t wait) { return wait < waits; }));
         });
}

}  // namespace etc
