// `--routing uniform|zipf:S|FILE`, of explain and sim.
#pragma once

#include <optional>
#include <string>

#include "simulator/routing.h"
#include "support/diagnostics.h"

namespace etc {

/// Nothing after an error.
std::optional<Routing> ParseRouting(const std::string& text, Diagnostics& diagnostics);

}  // namespace etc
