// The table that the build generates from the embedded files (cmake/embed_text.cmake).
#pragma once

#include <cstddef>
#include <string_view>

namespace etc {

struct BuiltinText {
  std::string_view name;
  std::string_view text;
};

extern const BuiltinText kBuiltinTexts[];
extern const size_t kBuiltinTextCount;

}  // namespace etc
