// Layouts that a library wants of a program's tensors.
#pragma once

#include <set>
#include <vector>

#include "ir/module.h"

namespace etc {

/// A tensor that is row-major as it is written gets the layout that a device function of `imported`
/// wants: the library knows what its implementations stream.
void TakeLayouts(Module& module, const std::vector<NodeId>& nodes,
                 const std::set<DeviceId>& imported);

}  // namespace etc
