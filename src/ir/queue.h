// What follows from the cases of a queue: which of its pushes have as many tasks as data say.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/module.h"

namespace etc {

/// Whether the case is pushed, and its ranges depend on data or on each other. Then its arrivals
/// are those of pushes, `pushed { arrive %next; }`, not of tasks: who pushes the tasks of an
/// element does the waits under `ranges`, pushes as many as there are, and arrives, also where
/// there are none.
bool ArriveByPush(const Module& module, const Share& share);

/// Whether the ranges of a case depend on data or on each other, and its tasks are pushed. Such a
/// queue counts its pushes: their number follows from the sizes, and that of the tasks does not.
bool CountsPushes(const Module& module, const Dispatch& dispatch);

/// How many counters a dispatch has in each iteration of the repeats around it, besides those whose
/// memory holds the places of a queue: one for each case, and of a queue for the head, for the
/// tail, and for the pushes where it counts them.
int64_t DispatchCounters(const Module& module, const Dispatch& dispatch);

/// How many of the first coordinates of a case's tasks the elements of its trigger may have, so
/// that the tasks of an element follow each other in the numbering: all of a box. Else those whose
/// range follows from the sizes alone and that others' ranges depend on.
size_t MostGiven(const Module& module, const Share& share);

}  // namespace etc
