#include "expand/sites.h"

#include "ir/printer.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// The first value of each variable of a repeat.
Substitution FirstRounds(Module& module) {
  Substitution first;
  for (NodeId id : module.nodes.Ids()) {
    if (const auto* repeat = std::get_if<Repeat>(&module.nodes[id])) {
      first[repeat->var] = repeat->lo;
    }
  }
  return first;
}

}  // namespace

OpenSite SiteOf(Module& module, const Callee& callee, const CallNode& call, const Deduced& deduced,
                std::vector<Decision> decisions, SourceRange range) {
  OpenSite site;
  site.device = call.callee;
  site.graph = call.graph;
  site.name = callee.name;
  site.params = deduced.params;
  site.args = call.args;
  site.decisions = std::move(decisions);
  site.call = range;
  Substitution first = FirstRounds(module);
  site.key = callee.name;
  for (SymbolId generic : callee.generics) {
    ExprId value = Clone(module, deduced.values.at(generic), first);
    site.values[generic] = value;
    if (!module.choices.contains(generic)) {
      site.key += ";" + Print(module, value);
    }
  }
  for (const GenericArg& given : call.generics) {
    site.generics.emplace_back(given.name, Clone(module, given.value, first));
  }
  for (ExprId scalar : call.scalars) {
    site.scalars.push_back(Clone(module, scalar, first));
    site.key += ";" + Print(module, site.scalars.back());
  }
  for (const Decision& decision : site.decisions) {
    for (const Where& one : decision.where) {
      site.key += ";" + Print(module, one.lo) + ".." + Print(module, one.hi);
    }
  }
  return site;
}

}  // namespace etc
