// Buffers of which every element has one value as soon as it is written.
#pragma once

#include <set>

#include "analysis/sets/unknowns.h"

namespace etc {

/// The buffers of integers that calls fill slice by slice: no slice is written by two calls or in
/// two iterations, and what reads a slice comes behind what writes it in program order. What events
/// put in that order reads one value of an element.
std::set<TensorId> WrittenOnce(Unknowns& unknowns);

}  // namespace etc
