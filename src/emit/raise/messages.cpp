#include "emit/raise/messages.h"

#include <algorithm>

namespace etc {

MessageId AddMessage(MessageTexts& texts, const std::string& text) {
  auto found = std::find(texts.begin(), texts.end(), text);
  if (found == texts.end()) {
    texts.push_back(text);
    return texts.size() - 1;
  }
  return static_cast<size_t>(found - texts.begin());
}

std::string MessagePlaces(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += i == 0 ? "{}" : ", {}";
  }
  return count == 0 ? "" : "[" + text + "]";
}

}  // namespace etc
