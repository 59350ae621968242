// Which tensors of a program over ranks are apart: each rank may have other values in them.
#pragma once

#include <cstdint>
#include <set>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// Adds to `apart` what the calls of the graph make of what is apart already, in a range of sizes.
/// What a task makes of tensors that are alike is alike where the task does not ask for its rank,
/// and so is what a task sends to all ranks.
void AddApart(const Module& module, const Graph& graph, const DimRanges& range, int64_t ranks,
              std::set<TensorId>& apart);

/// The parameters of which each rank has a part.
void AddSharded(const Module& module, const Graph& graph, std::set<TensorId>& apart);

}  // namespace etc
