// In how many parts the ranks of a group have a parameter.
#pragma once

#include <cstdint>

#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

/// For so many ranks, of which rank `r` has part `PartOf(r, ranks, parts)`. 1 where each has all of
/// the parameter. A failure is the manifest's fault: a number that does not divide the ranks, or
/// that depends on more than them.
Status CountParts(const manifest::Graph& graph, const manifest::Param& param, int64_t ranks,
                  int64_t* parts);

/// Ranks that follow each other share a part.
constexpr int64_t PartOf(int64_t rank, int64_t ranks, int64_t parts) {
  return rank * parts / ranks;
}

}  // namespace etc::runtime
