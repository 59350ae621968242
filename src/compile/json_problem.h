// Where and why a text is no JSON that etc can read.
#pragma once

#include <string>
#include <string_view>

namespace etc {

/// Of a text that the parser refused, completing "`FILE` ...": the place, and what is wrong there.
[[nodiscard]] std::string JsonProblem(std::string_view text);

/// The first key that some object of a JSON text has twice, of which a parser keeps the last; empty
/// where there is none.
[[nodiscard]] std::string KeyGivenTwice(std::string_view text);

}  // namespace etc
