// A manifest to change, and what reading it then says.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "runtime/artifact.h"
#include "runtime/manifest_reader.h"

namespace etc::test {

/// The manifest of `gather` with all that a written one has.
inline nlohmann::json Complete() {
  nlohmann::json manifest = GatherManifest();
  manifest["binary"]["bytes"] = 3;
  manifest["binary"]["xxh3_128"] = std::string(32, '0');
  return manifest;
}

/// What is wrong with a manifest that must not be read.
inline std::string ErrorOf(const std::string& text) {
  manifest::Manifest manifest;
  const runtime::Status status = runtime::ReadManifest(text, &manifest);
  CHECK(status.code == ETC_ERROR_MANIFEST);
  return status.message;
}

/// The error after the value at `pointer` became `value`.
inline std::string ErrorWith(const char* pointer, const nlohmann::json& value) {
  nlohmann::json manifest = Complete();
  manifest[nlohmann::json::json_pointer(pointer)] = value;
  return ErrorOf(Sealed(manifest));
}

}  // namespace etc::test
