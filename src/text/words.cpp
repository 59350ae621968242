#include "text/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/nearest_word.h"

namespace etc {

std::vector<std::string_view> ElementTypeWords() {
  return {
#define ETC_DTYPE(name, spelling, bytes, kind) spelling,
#include "ir/dtypes.def"
#undef ETC_DTYPE
  };
}

std::vector<std::string_view> FunctionWords() {
  std::vector<std::string_view> words = {
#define ETC_REDUCTION(name, spelling) spelling,
#include "ir/ops.def"
#define ETC_INTRINSIC(name, spelling, arity, kind, value) spelling,
#include "ir/ops.def"
  };
  std::vector<std::string_view> types = ElementTypeWords();
  words.insert(words.end(), types.begin(), types.end());
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

bool IsFunctionWord(std::string_view word) {
  std::vector<std::string_view> words = FunctionWords();
  return std::binary_search(words.begin(), words.end(), word);
}

std::vector<std::string_view> KeywordWords() {
  return {
#define ETC_KEYWORD(name, text) text,
#include "text/tokens.def"
  };
}

Note KnownWords(std::string_view word, const std::vector<std::string_view>& known) {
  if (std::string nearest = NearestWord(word, known); !nearest.empty()) {
    return {{}, fmt::format("did you mean `{}`?", nearest)};
  }
  std::string list;
  for (size_t i = 0; i < known.size(); ++i) {
    list += fmt::format("{}`{}`", i == 0 ? "" : i + 1 == known.size() ? " and " : ", ", known[i]);
  }
  return {{}, "known are " + list};
}

}  // namespace etc
