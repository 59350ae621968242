#include "analysis/order/data_order.h"

#include <algorithm>
#include <string>
#include <vector>

namespace etc {
namespace {

/// What is involved in a set, and what terms in it are made of.
std::set<std::string> NamesIn(const Unknowns& unknowns, const Set& set) {
  std::set<std::string> names;
  for (const std::string& name : unknowns.Involved(set)) {
    names.insert(name);
    if (const Term* term = unknowns.Find(name)) {
      unknowns.AddNames(*term, names);
    }
  }
  return names;
}

/// Where each element of a tensor in the edge is one of the terms of these names, and each quotient
/// or product by a size: those of the same indices are the same value. About others nothing is
/// known, so where the edge has one it is nowhere. With an element its indices come in, which may
/// be elements themselves.
Set Identify(const Unknowns& unknowns, Set edge, const std::set<std::string>& names) {
  std::vector<const Term*> known;
  for (const std::string& name : names) {
    if (const Term* term = unknowns.Find(name)) {
      known.push_back(term);
    }
  }
  auto is_new = [&](const Term* term) {
    return !term->global && std::find(known.begin(), known.end(), term) == known.end();
  };
  const size_t first_new = known.size();
  while (true) {
    std::vector<const Term*> terms = unknowns.TermsIn(edge);
    auto found = std::find_if(terms.begin(), terms.end(), is_new);
    if (found == terms.end()) {
      return edge;
    }
    const Term* term = *found;
    Set identified = edge - edge;
    for (size_t k = 0; k < first_new; ++k) {
      const Term* other = known[k];
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
    known.push_back(term);
  }
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
  // What a term is made of has one value in the edges, too, though the pairs need not say so.
  const std::set<std::string> names = NamesIn(unknowns, pairs);
  Set met = pairs - pairs;
  for (const EdgeRelation& notify : relations.notifies) {
    for (const EdgeRelation& wait : relations.waits) {
      EventId event = notify.edge->ref->event;
      bool between = notify.call == x.index && wait.call == y.index &&
                     wait.edge->ref->event == event && trusted.contains(event);
      if (!between || !notify.whole || !wait.whole || (notify.certain && wait.certain)) {
        continue;
      }
      std::vector<std::string> elements = ElementNames(unknowns.module().events[event].dims.size());
      for (const std::string& name : elements) {
        second[name] = name;  // that of the notify
      }
      Set both = notify.set & unknowns.Rename(wait.set, second);
      both = ProjectOut(Identify(unknowns, both, names), elements);
      std::vector<std::string> others;  // variables of the edges, and elements by their names there
      for (const std::string& name : unknowns.Involved(both)) {
        const Term* term = unknowns.Find(name);
        bool is_size = unknowns.IsDim(name) || (term != nullptr && term->global);
        if (!is_size && !names.contains(name)) {
          others.push_back(name);
        }
      }
      met = met | ProjectOut(both, others);
    }
  }
  return IsSubset(pairs, met);
}

}  // namespace etc
