#include "analysis/order/task_order.h"

#include <unordered_set>
#include <utility>

#include "analysis/order/data_order.h"
#include "analysis/order/grid_barriers.h"
#include "analysis/order/happens_before.h"
#include "analysis/order/sampled_order.h"
#include "analysis/order/schedule_order.h"
#include "analysis/sets/task_pairs.h"

namespace etc {

/// The layers: barriers between whole calls, single steps, the order at some small sizes, which
/// says which chains to compose, and all chains composed.
struct TaskOrder::State {
  State(Unknowns& all_unknowns, const EventRelations* proved, std::set<EventId> counted)
      : unknowns(all_unknowns),
        given(proved),
        trusted(std::move(counted)),
        sampled(all_unknowns.module(), all_unknowns.program()) {}

  const EventRelations& Relations() {
    if (given == nullptr && !made) {
      relations = MakeEventRelations(unknowns, std::move(relations));
      left = {};
      trusted.clear();
      for (auto [all, kept] : {std::pair{&relations.waits, &left.waits},
                               std::pair{&relations.notifies, &left.notifies}}) {
        for (const EdgeRelation& edge : *all) {
          if (without.empty()) {
            trusted.insert(edge.edge->ref->event);
          } else if (!without.contains(edge.edge->ref)) {
            kept->push_back(edge);
            trusted.insert(edge.edge->ref->event);
          }
        }
      }
      made = true;
    }
    return given != nullptr ? *given : without.empty() ? relations : left;
  }

  HappensBefore& Chains() {
    if (!chains) {
      const EventRelations& all = Relations();
      chains.emplace(unknowns, StepsOf(unknowns.program().calls.size(), all, trusted, steps));
    }
    return *chains;
  }

  GridCalls& Grids() {
    if (!grids) {
      grids.emplace(unknowns);
    }
    return *grids;
  }

  const GridBarriers& Barriers() {
    if (!barriers) {
      const HappensBefore& single = Chains();
      barriers.emplace(Grids(), single);
    }
    return *barriers;
  }

  void Forget() {
    barriers.reset();
    chains.reset();
    made = false;
    sampled.EventsChanged(without);
  }

  Unknowns& unknowns;
  const EventRelations* given;  // null: those of the program, which may change
  EventRelations relations;     // of all waits and notifies
  EventRelations left;          // of those that count, where some do not
  bool made = false;            // `left` is up to date
  std::set<const EventRef*> without;
  std::set<EventId> trusted;
  EventSteps steps;
  std::optional<HappensBefore> chains;
  std::optional<GridCalls> grids;
  std::optional<GridBarriers> barriers;
  SampledOrder sampled;
};

TaskOrder::TaskOrder(Unknowns& unknowns, const EventRelations& relations, std::set<EventId> trusted)
    : state_(std::make_unique<State>(unknowns, &relations, std::move(trusted))) {}

TaskOrder::TaskOrder(Unknowns& unknowns)
    : state_(std::make_unique<State>(unknowns, nullptr, std::set<EventId>())) {}

TaskOrder::~TaskOrder() = default;

void TaskOrder::LookAtCalls() { (void)state_->Grids(); }

/// What is known of references that are gone goes, as others may get their place.
void TaskOrder::EventsChanged() {
  std::unordered_set<const EventRef*> left;
  for (const ProgramCall& call : state_->unknowns.program().calls) {
    for (const auto* edges : {&call.waits, &call.notifies}) {
      for (const TaskEdge& edge : *edges) {
        left.insert(edge.ref);
      }
    }
  }
  auto is_gone = [&](const EdgeRelation& edge) { return !left.contains(edge.ref); };
  std::erase_if(state_->relations.waits, is_gone);
  std::erase_if(state_->relations.notifies, is_gone);
  std::erase_if(state_->steps, [&](const auto& step) {
    return !left.contains(step.first.first) || !left.contains(step.first.second);
  });
  state_->Forget();
}

void TaskOrder::Leave(const std::set<const EventRef*>& without) {
  state_->without = without;
  state_->Forget();
}

bool TaskOrder::FollowsProgramOrder() const {
  return etc::FollowsProgramOrder(state_->unknowns.program());
}

bool TaskOrder::OrdersAll(const ProgramCall& x, const ProgramCall& y) {
  return state_->Barriers().Orders(x, y);
}

bool TaskOrder::OrdersIteration(const ProgramCall& x, const ProgramCall& y) {
  return state_->Barriers().OrdersInIteration(x, y);
}

bool TaskOrder::OrdersIterations(const ProgramCall& x, const ProgramCall& y) {
  return state_->Barriers().OrdersIterations(x, y);
}

bool TaskOrder::OrdersDirectly(size_t from, size_t to, const Map& pairs) {
  const Map& direct = state_->Chains().Directly(from, to);
  return direct && IsSubset(pairs, direct);
}

bool TaskOrder::Orders(size_t from, size_t to, const Map& pairs) {
  HappensBefore& chains = state_->Chains();
  if (OrdersDirectly(from, to, pairs)) {
    return true;
  }
  if (!chains.Leads(from, to)) {
    return false;
  }
  const Map& direct = chains.Directly(from, to);
  Map open = direct ? Coalesce(pairs - direct) : pairs;
  if (IsEmpty(open)) {
    return true;
  }
  if (auto found = state_->sampled.IsOrdered(chains, from, to, open)) {
    return *found;
  }
  const Map& ordered = chains.Between(from, to);
  return ordered && IsSubset(pairs, ordered);
}

Map TaskOrder::Unordered(size_t from, size_t to, const Map& pairs) {
  HappensBefore& chains = state_->Chains();
  if (!chains.Leads(from, to)) {
    return pairs;
  }
  const Map& ordered = chains.Between(from, to);
  return ordered ? pairs - ordered : Map();
}

bool TaskOrder::OrdersThrough(size_t from, const ProgramCall& to, const Map& pairs,
                              const std::function<bool(size_t wait)>& counts) {
  const EventRelations& all = state_->Relations();
  EventRelations some{{}, all.notifies};
  for (const EdgeRelation& wait : all.waits) {
    if (wait.call != to.index || counts(static_cast<size_t>(wait.edge - to.waits.data()))) {
      some.waits.push_back(wait);
    }
  }
  HappensBefore chains(state_->unknowns, StepsOf(state_->unknowns.program().calls.size(), some,
                                                 state_->trusted, state_->steps));
  const Map& ordered = chains.Between(from, to.index);
  return ordered && IsSubset(pairs, ordered);
}

bool TaskOrder::OrdersInElements(const ProgramCall& from, const ProgramCall& to, const Set& pairs) {
  const EventRelations& relations = state_->Relations();
  return MeetsInElements(state_->unknowns, relations, state_->trusted, from, to, pairs);
}

std::optional<int64_t> TaskOrder::LeastOpenDistance(size_t from, size_t to, const Map& pairs,
                                                    size_t repeats) {
  SampledOrder::Distance sampled = state_->sampled.OpenDistance(from, to, pairs, repeats);
  if (sampled.known) {
    return sampled.least;
  }
  const Map& ordered = state_->Chains().Between(from, to);
  return LeastDistance(ordered ? pairs - ordered : pairs, repeats);
}

}  // namespace etc
