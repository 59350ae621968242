#include "analysis/events.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "analysis/sets/task_pairs.h"

namespace etc {

namespace {

/// `task`: of the call, as the edge names its own things in it.
EdgeRelation Relate(Unknowns& unknowns, const ProgramCall& call, TaskScope task,
                    const TaskEdge& edge) {
  const Module& module = unknowns.module();
  for (size_t i = 0; i < edge.coords.size(); ++i) {
    task.converter.Bind(edge.coords[i], unknowns.Param(CoordinateName(i, 1)));
  }
  EdgeRelation relation;
  relation.call = call.index;
  relation.edge = &edge;
  relation.ref = edge.ref;
  relation.set = task.domain;
  relation.exists = task.exact;
  auto restrict = [&](const Set& set) {
    relation.set = relation.set & set;
    std::vector<const Term*> terms = unknowns.TermsIn(set);
    relation.certain =
        relation.certain &&
        std::all_of(terms.begin(), terms.end(), [](const Term* term) { return term->global; });
  };
  for (const Axis& axis : edge.ref->axes) {
    std::string name = unknowns.Fresh(module.symbols[axis.var].name);
    PwAff variable = unknowns.Param(name);
    PwAff lo = axis.lo ? task.converter.Int(axis.lo) : unknowns.Constant(0);
    Set range = Le(lo, variable) & Lt(variable, task.converter.Int(axis.hi));
    unknowns.SetFacts(name, range);
    restrict(range);
    relation.variables.push_back(name);
    task.converter.Bind(axis.var, variable);
  }
  if (edge.ref->guard) {
    Converter::Condition where = task.converter.Where(edge.ref->guard, true);
    restrict(where.set);
    relation.whole = where.exact;
    relation.certain = relation.certain && where.exact;
  }
  relation.scope = unknowns.Close(relation.set);
  std::vector<std::string> elements;
  const Event& event = module.events[edge.ref->event];
  for (size_t i = 0; i < edge.ref->indices.size(); ++i) {
    ElementRange range(task.converter, edge.ref->indices[i], event.dims[i]);
    PwAff element = unknowns.Param(ElementName(i));
    restrict(Le(range.lo, element) & Lt(element, range.hi));
    relation.indices.push_back({range.lo, range.hi - unknowns.Constant(1), range.extent});
    elements.push_back(ElementName(i));
  }
  relation.set = Coalesce(unknowns.Close(relation.set));
  relation.exact = relation.certain && relation.exists;
  relation.elements = ToMap(unknowns, relation.set, TaskNames(call, 1), elements);
  return relation;
}

}  // namespace

EventRelations MakeEventRelations(Unknowns& unknowns) { return MakeEventRelations(unknowns, {}); }

EventRelations MakeEventRelations(Unknowns& unknowns, EventRelations known) {
  EventRelations relations;
  std::unordered_multimap<const EventRef*, EdgeRelation*> by_ref;
  for (std::vector<EdgeRelation>* old : {&known.waits, &known.notifies}) {
    for (EdgeRelation& relation : *old) {
      by_ref.emplace(relation.ref, &relation);
    }
  }
  for (const ProgramCall& call : unknowns.program().calls) {
    std::optional<TaskScope> task;
    auto add = [&](const std::vector<TaskEdge>& edges, std::vector<EdgeRelation>& all) {
      for (const TaskEdge& edge : edges) {
        auto same = by_ref.find(edge.ref);
        if (same != by_ref.end()) {
          all.push_back(std::move(*same->second));
          all.back().edge = &edge;
          by_ref.erase(same);
          continue;
        }
        if (!task) {
          task.emplace(unknowns, call, 1);
        }
        all.push_back(Relate(unknowns, call, *task, edge));
      }
    };
    add(call.waits, relations.waits);
    add(call.notifies, relations.notifies);
  }
  return relations;
}

}  // namespace etc
