// The name that somebody may have meant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace etc {

/// Edits (insert, delete, replace, swap of neighbours) that turn one name into the other.
size_t EditDistance(std::string_view a, std::string_view b);

/// The known word closest to a misspelt one, the first of several; empty where none is close.
template <class Words>
std::string NearestWord(std::string_view word, const Words& known) {
  size_t best = word.size() < 3 ? word.size() : word.size() / 3 + 1;
  std::string nearest;
  for (std::string_view candidate : known) {
    size_t longer = std::max(word.size(), candidate.size());
    size_t distance = longer - std::min(word.size(), candidate.size()) < best
                          ? EditDistance(word, candidate)
                          : best;
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace etc
