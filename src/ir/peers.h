// What reaches the memory of other ranks.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// Whether tasks of the share write or notify at peers.
bool ReachesPeers(const Module& module, const Share& share);

/// How many ranks run the program, by the size of its mesh among the dimensions: one without a
/// mesh, and where the sizes do not say.
int64_t RanksAt(const Module& module, const Env& sizes);

/// Whether programs with a mesh may have the schedule, and why they may not have the one that does
/// not fit.
bool FitsMesh(ScheduleKind kind);
inline constexpr std::string_view kWhyNotOverRanks =
    "launches follow each other on their own rank only, and a launch waits for no peer";

}  // namespace etc
