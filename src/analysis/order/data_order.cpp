#include "analysis/order/data_order.h"

#include <algorithm>

namespace etc {
namespace {

/// Where each element of a tensor in the edge is one of the pairs, and each quotient or product by
/// a size: those of the same indices are the same value. About others nothing is known, so where
/// the edge has one it is nowhere.
Set Identify(const Unknowns& unknowns, Set edge, const Set& pairs) {
  std::vector<const Term*> known = unknowns.TermsIn(pairs);
  for (const Term* term : unknowns.TermsIn(edge)) {
    if (term->global || std::find(known.begin(), known.end(), term) != known.end()) {
      continue;
    }
    Set identified = edge - edge;
    for (const Term* other : known) {
      bool same_function = term->kind == other->kind && term->kind != Term::Kind::Any &&
                           term->tensor == other->tensor &&
                           (term->kind != Term::Kind::Element || term->stable);
      if (!same_function) {
        continue;
      }
      Set same = edge & Eq(unknowns.Param(term->name), unknowns.Param(other->name));
      for (size_t i = 0; i < term->args.size(); ++i) {
        same = same & Eq(term->args[i], other->args[i]);
      }
      identified = identified | same;
    }
    edge = Coalesce(identified);
  }
  return edge;
}

}  // namespace

bool MeetsInElements(Unknowns& unknowns, const EventRelations& relations,
                     const std::set<EventId>& trusted, const ProgramCall& x, const ProgramCall& y,
                     const Set& pairs) {
  std::map<std::string, std::string> second;
  std::vector<std::string> first_names = TaskNames(y, 1), second_names = TaskNames(y, 2);
  for (size_t i = 0; i < first_names.size(); ++i) {
    second[first_names[i]] = second_names[i];
  }
  std::vector<std::string> names = unknowns.Involved(pairs);
  Set met = pairs - pairs;
  for (const EdgeRelation& notify : relations.notifies) {
    for (const EdgeRelation& wait : relations.waits) {
      EventId event = notify.edge->ref->event;
      bool between = notify.call == x.index && wait.call == y.index &&
                     wait.edge->ref->event == event && trusted.contains(event);
      if (!between || (notify.certain && wait.certain)) {
        continue;
      }
      std::vector<std::string> elements = ElementNames(unknowns.module().events[event].dims.size());
      for (const std::string& name : elements) {
        second[name] = name;  // that of the notify
      }
      Set both = notify.set & unknowns.Rename(wait.set, second);
      both = ProjectOut(Identify(unknowns, both, pairs), elements);
      std::vector<std::string> others;  // variables of the edges, and elements by their names there
      for (const std::string& name : unknowns.Involved(both)) {
        const Term* term = unknowns.Find(name);
        bool is_size = unknowns.IsDim(name) || (term != nullptr && term->global);
        if (!is_size && std::find(names.begin(), names.end(), name) == names.end()) {
          others.push_back(name);
        }
      }
      met = met | ProjectOut(both, others);
    }
  }
  return IsSubset(pairs, met);
}

}  // namespace etc
