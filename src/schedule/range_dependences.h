// Dependences of a graph that is specialised: constants may follow the range of a size, and with
// them the tasks and what they access.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "analysis/derivation/dependence_graph.h"
#include "support/parallel.h"

namespace etc {

/// The dependences in all ranges of a specialisation, for events that are right in each.
class RangeDependences {
 public:
  RangeDependences(const Module& module, const std::vector<CallProgram>& programs);
  /// What will be asked to design events is found ahead. `coarse`: as NeedsOf takes it, for tasks
  /// of each call. `for_proofs`: keeps what is found of bodies.
  RangeDependences(const Module& module, const std::vector<CallProgram>& programs,
                   const std::vector<bool>& coarse, bool for_proofs);

  RangeDependences(const RangeDependences&) = delete;
  RangeDependences& operator=(const RangeDependences&) = delete;
  ~RangeDependences();

  /// What the proofs may take over of each program.
  std::vector<std::shared_ptr<ReadBodies>> Bodies() const {
    std::vector<std::shared_ptr<ReadBodies>> bodies;
    for (const auto& graph : graphs_) {
      bodies.push_back(graph->bodies());
    }
    return bodies;
  }

  void EventsChanged() {
    for (const auto& graph : graphs_) {
      graph->EventsChanged();
    }
  }
  void Leave(const std::set<const EventRef*>& waits) {
    for (const auto& graph : graphs_) {
      graph->Leave(waits);
    }
  }
  bool Exists(const Dependence& d) {
    return std::any_of(graphs_.begin(), graphs_.end(), [&](auto& g) { return g->Exists(d); });
  }
  /// In one of the programs.
  bool ExistsIn(size_t program, const Dependence& d) { return graphs_[program]->Exists(d); }
  bool IsOrdered(const Dependence& d) {
    std::vector<DependenceGraph*> graphs = Having(d);
    std::vector<char> ordered(graphs.size());
    // All of them, as what they find again depends on what they were asked.
    ForEachInParallel(graphs.size(), [&](size_t i) { ordered[i] = graphs[i]->IsOrdered(d); });
    return std::all_of(ordered.begin(), ordered.end(), [](char each) { return each != 0; });
  }
  std::optional<int64_t> Distance(const Dependence& d) {
    return Smallest(d, [&](DependenceGraph& graph) { return graph.Distance(d); });
  }
  std::optional<int64_t> OpenDistance(const Dependence& d) {
    return Smallest(d, [&](DependenceGraph& graph) { return graph.OpenDistance(d); });
  }

  /// The needs that hold in every range: all of a coordinate of which the ranges need different
  /// parts.
  std::vector<Needs> NeedsOf(const Dependence& d, const Iterations& iterations, bool coarse) {
    std::vector<std::vector<Needs>> parts = NeedsOf(d, iterations, true, coarse);
    if (std::adjacent_find(parts.begin(), parts.end(), std::not_equal_to<>()) == parts.end()) {
      return parts.empty() ? std::vector<Needs>() : parts.front();
    }
    parts = NeedsOf(d, iterations, false, coarse);
    Needs all = parts.front().front();
    for (const std::vector<Needs>& others : parts) {
      Join(all, others.front());
    }
    return {all};
  }

  /// Where data decide: what every range needs alike, if it does.
  std::optional<DataNeeds> NeedsInData(const Dependence& d, const Iterations& iterations) {
    std::vector<DependenceGraph*> graphs = Having(d);
    auto needs = graphs.empty() ? std::nullopt : graphs.front()->NeedsInData(d, iterations);
    if (!needs) {
      return std::nullopt;
    }
    std::vector<char> alike(graphs.size(), 1);
    ForEachInParallel(graphs.size() - 1, [&](size_t i) {
      alike[i + 1] = graphs[i + 1]->NeedsInData(d, iterations) == needs;
    });
    return std::all_of(alike.begin(), alike.end(), [](char each) { return each != 0; })
               ? needs
               : std::nullopt;
  }

  /// In a range that leaves the dependence to others there is none.
  DependenceGraph::Cause CauseOf(const Dependence& d) {
    DependenceGraph::Cause cause{};
    for (DependenceGraph* graph : Having(d)) {
      if (!cause.tensor) {
        cause = graph->CauseOf(d);
      }
    }
    return cause;
  }

 private:
  template <class DistanceIn>
  std::optional<int64_t> Smallest(const Dependence& d, const DistanceIn& distance_in) {
    std::optional<int64_t> smallest;
    for (const auto& graph : graphs_) {
      if (auto distance = graph->Exists(d) ? distance_in(*graph) : std::nullopt) {
        smallest = std::min(smallest.value_or(*distance), *distance);
      }
    }
    return smallest;
  }

  /// Those of the ranges that have the dependence.
  std::vector<DependenceGraph*> Having(const Dependence& d) {
    std::vector<DependenceGraph*> having;
    for (const auto& graph : graphs_) {
      if (graph->Exists(d)) {
        having.push_back(graph.get());
      }
    }
    return having;
  }

  std::vector<std::vector<Needs>> NeedsOf(const Dependence& d, const Iterations& iterations,
                                          bool in_parts, bool coarse) {
    std::vector<DependenceGraph*> graphs = Having(d);
    std::vector<std::vector<Needs>> all(graphs.size());
    ForEachInParallel(graphs.size(), [&](size_t i) {
      all[i] = graphs[i]->NeedsOf(d, iterations, in_parts, coarse);
    });
    std::erase_if(all, [](const std::vector<Needs>& needs) { return needs.empty(); });
    return all;
  }

  static void Join(Needs& all, const Needs& needs) {
    bool guards_agree = all.guard == needs.guard;
    if (!guards_agree) {
      all.guard.reset();
    }
    auto join = [&](Need& mine, const Need& other) {
      mine = guards_agree && mine == other ? mine : Need{};
    };
    for (size_t i = 0; i < all.iterations.size(); ++i) {
      join(all.iterations[i], needs.iterations[i]);
    }
    for (size_t i = 0; i < all.coordinates.size(); ++i) {
      join(all.coordinates[i], needs.coordinates[i]);
    }
  }

  std::vector<std::unique_ptr<DependenceGraph>> graphs_;
};

}  // namespace etc
