#include "mutations.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace etc {
namespace {

constexpr std::string_view kFragments[] = {
#define ETC_PUNCTUATION(name, text) text,
#define ETC_KEYWORD(name, text) text,
#include "text/tokens.def"
    "%x",     "@f",       "x",  "0",  "9223372036854775808", "1.5",  "1e999", "\"",
    "\"\"\"", "//",       "\n", "'w", "sum(k: 4)",           "max(", "bf16(", "sms",
    "\xff",   "\xc3\xa9", "$"};

constexpr std::string_view kJsonFragments[] = {"0",
                                               "1",
                                               "-1",
                                               "9223372036854775807",
                                               "9223372036854775808",
                                               "1e999",
                                               "1.5",
                                               "null",
                                               "true",
                                               "{",
                                               "}",
                                               "[",
                                               "]",
                                               ",",
                                               ":",
                                               "\"",
                                               "\\",
                                               "\\u0000",
                                               "\xff",
                                               "\xc3\xa9",
                                               "\"\"",
                                               "[]",
                                               "{}",
                                               "\"n\"",
                                               "\"+\"",
                                               "\"/\"",
                                               "\"select\"",
                                               "[\"/\",1,0]",
                                               "[\"*\",\"n\",\"n\"]",
                                               "\"launches\":[]",
                                               "\"repeat\":[0,1000000000000000000]",
                                               "\"layout\":{\"tile\":[8,32],\"swizzle\":true}",
                                               "\"kernels\"",
                                               "\"static\"",
                                               "\"i32\"",
                                               "\"name\"",
                                               "\"min\"",
                                               "\"max\"",
                                               "\"shape\""};

/// Words, runs of blanks, and single other bytes.
std::vector<std::string_view> Split(std::string_view text) {
  auto kind = [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return std::isalnum(byte) != 0 || c == '_' ? 1 : std::isspace(byte) != 0 ? 2 : 0;
  };
  std::vector<std::string_view> pieces;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (kind(text[i]) != 0 && end < text.size() && kind(text[end]) == kind(text[i])) {
      ++end;
    }
    pieces.push_back(text.substr(i, end - i));
    i = end;
  }
  return pieces;
}

template <size_t kCount>
std::string MutateWith(const std::string_view (&fragments)[kCount], const std::string& text,
                       unsigned number) {
  std::minstd_rand random(number + 1);
  std::vector<std::string_view> pieces = Split(text);
  auto below = [&](size_t n) { return random() % std::max<size_t>(n, 1); };
  auto at = [&](size_t i) { return pieces.begin() + static_cast<std::ptrdiff_t>(i); };
  for (size_t rounds = 1 + below(4); rounds > 0 && !pieces.empty(); --rounds) {
    size_t where = below(pieces.size());
    size_t length = std::min(1 + below(8), pieces.size() - where);
    switch (below(6)) {
      case 0:
        pieces.erase(at(where), at(where + length));
        break;
      case 1: {
        std::vector<std::string_view> copy(at(where), at(where + length));
        pieces.insert(at(below(pieces.size())), copy.begin(), copy.end());
        break;
      }
      case 2:
        std::swap(pieces[where], pieces[below(pieces.size())]);
        break;
      case 3:
        pieces[where] = fragments[below(kCount)];
        break;
      case 4:
        pieces.insert(at(where), fragments[below(kCount)]);
        break;
      default:
        pieces.resize(where);
        break;
    }
  }
  std::string mutated;
  for (std::string_view piece : pieces) {
    mutated += piece;
  }
  return mutated;
}

}  // namespace

std::string Mutate(const std::string& text, unsigned number) {
  return MutateWith(kFragments, text, number);
}

std::string MutateJson(const std::string& text, unsigned number) {
  return MutateWith(kJsonFragments, text, number);
}

std::string MutateBytes(const std::string& bytes, unsigned number) {
  std::minstd_rand random(number + 1);
  std::string mutated = bytes;
  auto below = [&](size_t n) { return random() % std::max<size_t>(n, 1); };
  for (size_t rounds = 1 + below(3); rounds > 0 && !mutated.empty(); --rounds) {
    // The header is small beside the rest, and what matters most.
    size_t where = below(below(2) == 0 ? std::min<size_t>(mutated.size(), 64) : mutated.size());
    size_t length = std::min(1 + below(16), mutated.size() - where);
    switch (below(5)) {
      case 0:
        mutated[where] = static_cast<char>(below(256));
        break;
      case 1:
        mutated[where] = static_cast<char>(mutated[where] ^ (1 << below(8)));
        break;
      case 2:
        mutated.erase(where, length);
        break;
      case 3:
        mutated.insert(below(mutated.size()), mutated.substr(where, length));
        break;
      default:
        mutated.resize(where);
        break;
    }
  }
  return mutated;
}

}  // namespace etc
