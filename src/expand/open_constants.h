// Constants that are choices: what a program leaves open as a whole.
#pragma once

#include <cstddef>
#include <vector>

#include "expand/choosing.h"
#include "ir/module.h"

namespace etc {

/// Whether the item is a constant that the program leaves open.
bool IsOpen(const Module& module, const Item& item);

/// Decides these constants for the kernels of the graph, where one alone becomes kernels: of
/// several, each keeps what its formula or its pin says. `graphs` are the numbers of their items.
/// What differs from range to range moves behind the dimensions that it speaks of, and `imported`,
/// which says something of each item, moves with the items.
void DecideConstants(Module& module, const std::vector<size_t>& graphs, Choosing& choosing,
                     std::vector<bool>& imported);

}  // namespace etc
