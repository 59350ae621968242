// The headers that a translation unit begins with.
#pragma once

#include <optional>
#include <string>

#include "emit/raise/header_text.h"
#include "emit/raise/raised.h"

namespace etc {

/// The text of the headers that the kernels' text uses, those of implementations among them, each
/// once. Reports one that does not exist or does not define its implementation.
[[nodiscard]] std::optional<std::string> GatherHeaders(const RaisedModule& raised,
                                                       const HeaderReader& reader,
                                                       Diagnostics& diagnostics);

}  // namespace etc
