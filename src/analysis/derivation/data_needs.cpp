#include "analysis/derivation/data_needs.h"

#include <algorithm>

#include "analysis/derivation/closed_form.h"
#include "analysis/proofs/permutations.h"

namespace etc {
namespace {

/// Whether all reads see one value: of an input, or behind whoever writes it.
bool IsReadable(const Term& term) {
  return (term.kind == Term::Kind::Element && term.stable) || term.kind == Term::Kind::Quotient;
}

/// Gives coordinates of `from` the values of what stands for them, in the pairs and in the tasks.
void Replace(Unknowns& unknowns, const NeedsScope& scope, Set& pairs, Set& producers,
             std::vector<std::optional<TaskKey>>& keys) {
  std::vector<std::string> names;
  for (const Term* term : unknowns.TermsIn(pairs)) {
    if (IsReadable(*term)) {
      names.push_back(term->name);
    }
  }
  for (const std::string& name : names) {
    Term term = *unknowns.Find(name);
    auto permuted = PermutedCoordinate(unknowns, scope.from, term, 1);
    auto flat = FlatCoordinateOf(unknowns, scope.from, term, 1);
    if ((!permuted && !flat) || keys[permuted ? *permuted : flat->axis]) {
      continue;
    }
    size_t axis = permuted ? *permuted : flat->axis;
    auto text = [&](const PwAff& value) { return ClosedForm(unknowns, value, scope.producers, 1); };
    auto value = text(unknowns.Param(name));
    auto rows = flat ? text(flat->rows) : std::nullopt;
    auto tasks = flat ? text(flat->size) : std::nullopt;
    if (!value || (flat && (!rows || !tasks))) {
      continue;
    }
    keys[axis] = TaskKey{*value, rows, tasks};
    std::string own = CoordinateName(axis, 1);
    pairs = ProjectOut(pairs, {own});
    pairs = ProjectOut(pairs & Eq(unknowns.Param(own), unknowns.Param(name)), {name});
    if (flat) {
      PwAff row = unknowns.Param(own);
      producers = ProjectOut(producers, {own}) & Le(unknowns.Constant(0), row) &
                  Lt(row, flat->rows) & unknowns.GlobalFacts();
    }
  }
}

std::optional<DataNeeds> Find(Unknowns& unknowns, const NeedsScope& scope, Set pairs, bool keyed) {
  DataNeeds found;
  found.keys.resize(scope.from.axes.size());
  Set producers = scope.producers;
  if (keyed) {
    Replace(unknowns, scope, pairs, producers, found.keys);
    if (std::none_of(found.keys.begin(), found.keys.end(),
                     [](const std::optional<TaskKey>& key) { return key.has_value(); })) {
      return std::nullopt;  // the same as without keys
    }
  }
  std::vector<std::string> producer = TaskNames(scope.from, 1);
  std::vector<std::string> consumer = TaskNames(scope.to, 2);
  std::vector<std::string> kept = producer;
  kept.insert(kept.end(), consumer.begin(), consumer.end());
  std::vector<std::string> data;
  for (const Term* term : unknowns.TermsIn(pairs)) {
    if (IsReadable(*term) && !term->global && unknowns.DependsOnlyOn(term->name, consumer)) {
      data.push_back(term->name);
    }
  }
  kept.insert(kept.end(), data.begin(), data.end());
  pairs = OverSizes(unknowns, pairs, kept);
  Set consumers = ProjectOut(pairs, producer);
  if (!IsSubset(unknowns.CloseOver(scope.consumers, data), consumers)) {
    return std::nullopt;  // some task, or some value, would need a condition
  }
  found.needs =
      NeedsInOne({unknowns, scope.from, scope.to, producers, consumers, scope.carried}, pairs);
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
