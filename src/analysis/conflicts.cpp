#include "analysis/conflicts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/control_reads.h"
#include "analysis/regions.h"

namespace etc {
struct Conflicts::State {
  State(const Module& module, CallProgram called)
      : program(std::move(called)), unknowns(module, program, context) {}

  using Regions = std::vector<AccessRegion>;
  using Key = std::pair<size_t, TensorId>;

  const ProgramCall& CallOf(NodeId node) const {
    return *std::find_if(program.calls.begin(), program.calls.end(),
                         [&](const ProgramCall& call) { return call.node == node; });
  }

  const Regions& First(const ProgramCall& call, TensorId tensor) {
    auto [found, fresh] = first.try_emplace({call.index, tensor});
    if (fresh) {
      found->second = RegionsOf(unknowns, call, {tensor}).all;
    }
    return found->second;
  }

  const Regions& Second(const ProgramCall& call, TensorId tensor) {
    auto [found, fresh] = second.try_emplace({call.index, tensor});
    if (fresh) {
      found->second = Twins(unknowns, call, First(call, tensor));
    }
    return found->second;
  }

  /// What the call reads of control tensors, as read in the second of two iterations.
  Regions OfControl(const ProgramCall& call, TensorId tensor, Use use) {
    ControlReads reads = use == Use::Range ? RangeReads(unknowns, call) : EdgeReads(unknowns, call);
    Converter converter(unknowns);
    Set iterations = BindIterations(converter, call, 2);
    Regions regions;
    for (const std::vector<PwAff>& element : reads[tensor]) {
      AccessRegion region;
      region.tensor = tensor;
      region.exact = false;
      region.set = iterations;
      std::vector<PwAff> indices = ElementAt(unknowns, tensor, element, iterations);
      for (size_t i = 0; i < indices.size(); ++i) {
        region.set = region.set & Eq(unknowns.Param(ElementName(i)), indices[i]);
      }
      region.set = unknowns.Close(region.set);
      regions.push_back(std::move(region));
    }
    return regions;
  }

  CallProgram program;
  IslContext context;
  Unknowns unknowns;
  std::map<Key, Regions> first;
  std::map<Key, Regions> second;
};

Conflicts::Conflicts(const Module& module, CallProgram program)
    : state_(std::make_unique<State>(module, std::move(program))) {}

Conflicts::~Conflicts() = default;

bool Conflicts::MayMeet(const Pair& pair, TensorId tensor, Use use) {
  State& state = *state_;
  if (state.program.open) {
    return true;
  }
  const ProgramCall& from = state.CallOf(pair.from);
  const ProgramCall& to = state.CallOf(pair.to);
  const auto& earlier = state.First(from, tensor);
  const auto later = use == Use::Body ? state.Second(to, tensor) : state.OfControl(to, tensor, use);
  state.context.SetBudget();
  const Unknowns& unknowns = state.unknowns;
  Set order = pair.carried ? InLaterIteration(unknowns, pair.repeats)
                           : InOneIteration(unknowns, pair.repeats);
  order = order & unknowns.GlobalFacts();
  for (const AccessRegion& a : earlier) {
    for (const AccessRegion& b : later) {
      if (!a.write && !b.write) {
        continue;
      }
      Set both = Coalesce(a.set & b.set & order);
      bool apart =
          IsEmpty(both) || (!(a.exact && b.exact) && IsEmpty(unknowns.WithAxioms(std::move(both))));
      if (!apart) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace etc
