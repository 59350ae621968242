// Buffers of which every element has one value as soon as it is written.
#pragma once

#include <set>

#include "analysis/sets/unknowns.h"

namespace etc {

/// The buffers of integers that calls fill slice by slice. No slice is written by two calls or in
/// two iterations, and what reads a slice stands behind what writes it in program order. So every
/// read that events put behind the write sees one value of an element.
std::set<TensorId> WrittenOnce(Unknowns& unknowns);

}  // namespace etc
