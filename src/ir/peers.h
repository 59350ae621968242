// What reaches the memory of other ranks.
#pragma once

#include "ir/module.h"

namespace etc {

/// Whether tasks of the share write or notify at peers.
bool ReachesPeers(const Module& module, const Share& share);

}  // namespace etc
