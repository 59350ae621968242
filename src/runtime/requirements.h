// Relations between dims that a launch must fulfil.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/json_object.h"
#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

/// Those of a graph or of a kernel; none where the key is left out.
Status ReadRequirements(const JsonObject& object, const manifest::Graph& graph,
                        std::vector<manifest::Requirement>* requirements);

/// The first of the requirements that does not hold is a failure, with the values of its dims.
Status CheckRequirements(const manifest::Graph& graph,
                         const std::vector<manifest::Requirement>& requirements,
                         const std::vector<int64_t>& dims);

}  // namespace etc::runtime
