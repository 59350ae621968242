#include "runtime/container.h"

#include <cstdint>

#include "runtime/hash.h"
#include "runtime/little_endian.h"

namespace etc::runtime {
namespace {

// As in PNG: a transfer that takes bytes for text breaks the line ends.
constexpr std::string_view kMagic = "ETCA\r\n\x1a\n";
constexpr uint64_t kVersion = 1;
constexpr size_t kHeaderBytes = 64;
constexpr size_t kVersionAt = 8;  // where the header's fields stand; the magic is at 0
constexpr size_t kManifestBytesAt = 16;
constexpr size_t kBinaryBytesAt = 24;
constexpr size_t kHashAt = 32;  // zeros from its end to the header's
constexpr size_t kAlignment = 64;

uint64_t Aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

void PutNumber(uint64_t number, size_t at, std::string* bytes) {
  for (size_t i = 0; i < 8; ++i, number >>= 8) {
    (*bytes)[at + i] = static_cast<char>(number & 0xff);
  }
}

/// Hashes all bytes; the bytes of the hash itself count as zeros.
Hash HashOfContainer(std::string_view bytes) {
  const std::string zeros(sizeof(Hash), '\0');
  return HashOf({bytes.substr(0, kHashAt), zeros, bytes.substr(kHashAt + sizeof(Hash))});
}

}  // namespace

bool IsContainer(std::string_view bytes) { return bytes.substr(0, kMagic.size()) == kMagic; }

std::string WriteContainer(std::string_view manifest, std::string_view binary) {
  std::string bytes(kMagic);
  bytes.resize(kHeaderBytes);
  PutNumber(kVersion, kVersionAt, &bytes);
  PutNumber(manifest.size(), kManifestBytesAt, &bytes);
  PutNumber(binary.size(), kBinaryBytesAt, &bytes);
  bytes += manifest;
  bytes.resize(Aligned(bytes.size()));
  bytes += binary;
  const Hash hash = HashOfContainer(bytes);
  bytes.replace(kHashAt, hash.size(), hash.data(), hash.size());
  return bytes;
}

Status ReadContainer(std::string_view bytes, ContainerParts* parts) {
  if (!IsContainer(bytes)) {
    return Fail(ETC_ERROR_BINARY, "does not begin like one");
  }
  if (bytes.size() < kHeaderBytes) {
    return Fail(ETC_ERROR_BINARY, "ends within its header");
  }
  if (const uint64_t version = NumberAt(bytes, kVersionAt); version != kVersion) {
    return Fail(ETC_ERROR_BINARY, "has the version ", version, ", but this library reads version ",
                kVersion);
  }
  const uint64_t manifest_bytes = NumberAt(bytes, kManifestBytesAt);
  const uint64_t binary_bytes = NumberAt(bytes, kBinaryBytesAt);
  const uint64_t binary_at =
      manifest_bytes < bytes.size() ? Aligned(kHeaderBytes + manifest_bytes) : bytes.size() + 1;
  if (binary_at > bytes.size() || bytes.size() - binary_at != binary_bytes) {
    return Fail(ETC_ERROR_BINARY, "has ", bytes.size(), " bytes, but its header says ",
                manifest_bytes, " of a manifest and ", binary_bytes, " of a binary");
  }
  const Hash hash = HashOfContainer(bytes);
  if (bytes.substr(kHashAt, hash.size()) != std::string_view(hash.data(), hash.size())) {
    return Fail(ETC_ERROR_BINARY, "does not have the hash that it names: it was changed after it ",
                "was written");
  }
  parts->manifest = bytes.substr(kHeaderBytes, manifest_bytes);
  parts->binary = bytes.substr(binary_at);
  return {};
}

}  // namespace etc::runtime
