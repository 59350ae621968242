// The words that the language knows, for those who misspell one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace etc {

/// Reductions, intrinsics and element types: what may stand before a `(` in an expression.
std::vector<std::string_view> FunctionWords();
bool IsFunctionWord(std::string_view word);
std::vector<std::string_view> ElementTypeWords();
/// The words of the grammar.
std::vector<std::string_view> KeywordWords();

/// "did you mean `floor`?" or, where no word is close, "known are `a`, `b` and `c`".
Note KnownWords(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace etc
