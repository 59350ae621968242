// Tensors that say which tasks of a call run, and what they wait for and notify.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "analysis/events.h"

namespace etc {

/// The tensors of the program that the range of the call's tasks is read from.
std::set<TensorId> RangeTensors(const Unknowns& unknowns, const ProgramCall& call);

/// The tensors that the elements and the condition of a wait or notify are read from, and, of a
/// wait, the count of its event.
std::set<TensorId> EdgeTensors(const Unknowns& unknowns, const TaskEdge& edge, bool wait);

/// Whether each element of `counts` is promised to be the number of those of `counted` that are
/// equal to its index, and both keep their values.
bool CountsElements(const Unknowns& unknowns, TensorId counts, TensorId counted);

/// The calls that write each tensor.
std::map<TensorId, std::set<size_t>> WritersOf(const Unknowns& unknowns);

/// Whether every task of `call` comes after all of `writer`, through those of its own waits for
/// which `counts` says so.
bool FollowsAll(Unknowns& unknowns, const EventRelations& relations,
                const std::set<EventId>& trusted, const ProgramCall& writer,
                const ProgramCall& call, const std::function<bool(size_t wait)>& counts);

/// Whether an index in a sum and one in the ranges of a call's tasks, or of a slice that the call
/// is given, have one value. Neither is over the axes of the sum or the coordinates of the task.
using SameIndex = std::function<bool(ExprId of_sum, ExprId of_call)>;

/// Whether `sum`, an expression of the program, counts the tasks of the call: it adds 1 for each
/// point of the same ranges, which are read from tensors that keep their values.
bool CountsTasks(const Unknowns& unknowns, ExprId sum, const ProgramCall& call,
                 const SameIndex& same_index);

}  // namespace etc
