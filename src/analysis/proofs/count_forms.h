// Counts that say in their own form what notifies the event: the number of a call's tasks, or how
// often a value is in a tensor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/events.h"

namespace etc {

/// Converts what is declared of an element of the event, whose indices are `ElementNames`.
Converter OfElement(Unknowns& unknowns, const Event& event);
/// The names of the task and of the `for` of a wait or notify.
std::vector<std::string> VariablesOf(const Unknowns& unknowns, const EdgeRelation& edge);
/// The set for any data.
Set WithoutData(const Unknowns& unknowns, const Set& set);
/// The value that the element decides a variable of a notify to have, or null. `known`: the pairs
/// of a task and an element, for any data.
PwAff Decided(const Unknowns& unknowns, const EdgeRelation& notify, const Set& known,
              const std::string& name);

/// Whether the count of the event is right by its form. `used`: the elements that some task waits
/// for or notifies.
bool CountsByForm(Unknowns& unknowns, const EventRelations& relations, EventId event,
                  const Set& used);

/// What is added in an expression: itself, where that is no sum.
std::vector<ExprId> SummandsOf(const Module& module, ExprId sum);

/// One of several notifies of an event, and the summand of its count that is right for it.
struct CountedNotify {
  const EdgeRelation* notify;
  ExprId summand;
};
/// A summand that says how often a value is in a tensor, and what notifies the event as often.
std::optional<CountedNotify> CountedByForm(Unknowns& unknowns, const EventRelations& relations,
                                           EventId event, const Set& used);

}  // namespace etc
