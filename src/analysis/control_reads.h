// Tensors that say which tasks of a call run, and what they wait for and notify.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analysis/order/task_order.h"

namespace etc {

/// What tasks 2 of a call read of control tensors: for each tensor, the indices
/// of its elements over the task.
using ControlReads = std::map<TensorId, std::vector<std::vector<PwAff>>>;

/// What the range of the call's tasks is read from.
ControlReads RangeReads(Unknowns& unknowns, const ProgramCall& call);

/// What the elements and the condition of a wait or notify are read from, and, of a wait, the count
/// of its event.
ControlReads EdgeReads(Unknowns& unknowns, const ProgramCall& call, const TaskEdge& edge,
                       bool wait);

/// The same of all waits and notifies of the call, and of what stands under `after`.
ControlReads EdgeReads(Unknowns& unknowns, const ProgramCall& call);

/// The slice of `counted` of which this element of `counts` is promised to be the number of
/// elements that are equal to its last index. Nothing where none is, or they do not keep their
/// values.
std::optional<std::vector<PwAff>> CountedSlice(Unknowns& unknowns, TensorId counts,
                                               const std::vector<PwAff>& element, TensorId counted);

/// The calls that write each tensor.
std::map<TensorId, std::set<size_t>> WritersOf(const Unknowns& unknowns);

/// Which writes are asked for: those of all iterations, or of those that both calls share.
enum class WritesOf { AllIterations, OneIteration };

/// Whether each task of `call` comes after what `writer` writes of these elements, through those of
/// its own waits for which `counts` says so. What it writes itself in one iteration is not looked
/// at.
bool FollowsWrites(Unknowns& unknowns, TaskOrder& order, const ProgramCall& writer,
                   const ProgramCall& call, const ControlReads::value_type& reads,
                   const std::function<bool(size_t wait)>& counts,
                   WritesOf writes = WritesOf::AllIterations);

/// Whether an index in a sum and one in the ranges of a call's tasks, or of a slice that the call
/// is given, have one value. Neither is over the axes of the sum or the coordinates of the task.
using SameIndex = std::function<bool(ExprId of_sum, ExprId of_call)>;

/// Whether `sum`, an expression of the program, counts the tasks of the call: it adds 1 for each
/// point of the same ranges, which are read from tensors that keep their values.
bool CountsTasks(Unknowns& unknowns, ExprId sum, const ProgramCall& call,
                 const SameIndex& same_index);

}  // namespace etc
