// JSON as text for files that people read, too.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace etc {

/// What fits stands in one line, with an element in each where it does not.
[[nodiscard]] std::string JsonText(const nlohmann::ordered_json& json);

}  // namespace etc
