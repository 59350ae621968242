#include "runtime/hash.h"

// At -Og, as with the address sanitizer, gcc cannot inline what is called through a pointer.
#ifdef __SANITIZE_ADDRESS__
#define XXH_NO_INLINE_HINTS 1
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace etc::runtime {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

Hash HashOf(std::initializer_list<std::string_view> parts) {
  XXH128_hash_t value;
  if (parts.size() == 1) {
    value = XXH3_128bits(parts.begin()->data(), parts.begin()->size());
  } else {
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    for (const std::string_view part : parts) {
      XXH3_128bits_update(&state, part.data(), part.size());
    }
    value = XXH3_128bits_digest(&state);
  }
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, value);
  Hash hash;
  static_assert(sizeof(hash) == sizeof(canonical.digest));
  std::memcpy(hash.data(), canonical.digest, hash.size());
  return hash;
}

std::string HexOf(const Hash& hash) {
  std::string hex;
  for (const char byte : hash) {
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

std::string HashText(std::string_view bytes) { return HexOf(HashOf({bytes})); }

bool IsHash(std::string_view text) {
  return text.size() == 2 * sizeof(Hash) &&
         text.find_first_not_of(kDigits) == std::string_view::npos;
}

}  // namespace etc::runtime
