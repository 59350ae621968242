// What reaches the memory of other ranks.
#pragma once

#include <string_view>

#include "ir/module.h"

namespace etc {

/// Whether tasks of the share write or notify at peers.
bool ReachesPeers(const Module& module, const Share& share);

/// Whether programs with a mesh may have the schedule, and of one that they may not have why.
bool FitsMesh(ScheduleKind kind);
std::string_view WhyNotOverRanks(ScheduleKind kind);

}  // namespace etc
