#include "runtime/manifest_seal.h"

#include "runtime/hash.h"

namespace etc::runtime {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr size_t kDigits = 2 * sizeof(Hash);

/// Takes `end` and the blanks behind it from the end of `text`.
bool DropEnd(char end, std::string_view* text) {
  const size_t last = text->find_last_not_of(kBlank);
  if (last == std::string_view::npos || (*text)[last] != end) {
    return false;
  }
  text->remove_suffix(text->size() - last);
  return true;
}

}  // namespace

std::string SealManifest(std::string text) {
  text.erase(text.find_last_of('}'));
  text.erase(text.find_last_not_of(kBlank) + 1);
  text += Cat(",\n  \"", kSealKey, "\": \"");
  text += HashText(text);
  return text + "\"\n}\n";
}

Status CheckSeal(std::string_view text, std::string* hash) {
  std::string_view rest = text;
  if (!DropEnd('}', &rest) || !DropEnd('"', &rest) || rest.size() < kDigits ||
      !IsHash(rest.substr(rest.size() - kDigits))) {
    return Fail(ETC_ERROR_MANIFEST, "does not end with `", kSealKey, "`, the hash of its text");
  }
  const std::string_view given = rest.substr(rest.size() - kDigits);
  rest.remove_suffix(kDigits);
  *hash = HashText(rest);
  return *hash == given ? Status{}
                        : Fail(ETC_ERROR_MANIFEST, "has the hash ", *hash, ", but says ", given,
                               ": it was changed after it was written");
}

}  // namespace etc::runtime
