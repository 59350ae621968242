#include "analysis/derivation/data_needs.h"

#include <algorithm>

#include "analysis/derivation/closed_form.h"
#include "analysis/proofs/permutations.h"

namespace etc {
namespace {

bool IsOfInput(const Unknowns& unknowns, const Term& term) {
  return term.kind == Term::Kind::Element && term.stable &&
         unknowns.module().tensors[term.tensor].kind == TensorKind::Param;
}

/// Gives coordinates of `from` the values of what permutes them.
Set Permute(Unknowns& unknowns, const NeedsScope& scope, Set pairs,
            std::vector<std::optional<TaskExpr>>& keys) {
  std::vector<std::string> names;
  for (const Term* term : unknowns.TermsIn(pairs)) {
    if (IsOfInput(unknowns, *term)) {
      names.push_back(term->name);
    }
  }
  for (const std::string& name : names) {
    auto axis = PermutedCoordinate(unknowns, scope.from, Term(*unknowns.Find(name)), 1);
    if (!axis || keys[*axis]) {
      continue;
    }
    keys[*axis] = ClosedForm(unknowns, unknowns.Param(name), scope.producers, 1);
    if (keys[*axis]) {
      std::string own = CoordinateName(*axis, 1);
      pairs = ProjectOut(pairs, {own});
      pairs = ProjectOut(pairs & Eq(unknowns.Param(own), unknowns.Param(name)), {name});
    }
  }
  return pairs;
}

std::optional<DataNeeds> Find(Unknowns& unknowns, const NeedsScope& scope, Set pairs, bool keyed) {
  DataNeeds found;
  found.keys.resize(scope.from.axes.size());
  if (keyed) {
    pairs = Permute(unknowns, scope, pairs, found.keys);
  }
  std::vector<std::string> producer = TaskNames(scope.from, 1);
  std::vector<std::string> consumer = TaskNames(scope.to, 2);
  std::vector<std::string> kept = producer;
  kept.insert(kept.end(), consumer.begin(), consumer.end());
  std::vector<std::string> data;
  for (const Term* term : unknowns.TermsIn(pairs)) {
    if (IsOfInput(unknowns, *term) && unknowns.DependsOnlyOn(term->name, consumer)) {
      data.push_back(term->name);
    }
  }
  kept.insert(kept.end(), data.begin(), data.end());
  pairs = OverSizes(unknowns, pairs, kept);
  Set consumers = ProjectOut(pairs, producer);
  if (!IsSubset(scope.consumers, ProjectOut(consumers, data))) {
    return std::nullopt;  // some task would need a condition
  }
  found.needs = NeedsInOne({unknowns, scope.from, scope.to, scope.producers, consumers}, pairs);
  bool useful = std::any_of(
      found.needs.coordinates.begin(), found.needs.coordinates.end(),
      [](const Need& need) { return !need.whole && need.length && *need.length <= kMostWaits; });
  return useful ? std::optional(found) : std::nullopt;
}

}  // namespace

std::optional<DataNeeds> NeedsInData(Unknowns& unknowns, const NeedsScope& scope,
                                     const Set& conflicts) {
  auto plain = Find(unknowns, scope, conflicts, false);
  return plain ? plain : Find(unknowns, scope, conflicts, true);
}

}  // namespace etc
