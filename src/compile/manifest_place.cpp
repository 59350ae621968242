#include "compile/manifest_place.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/files.h"

namespace etc {
namespace {

namespace fs = std::filesystem;

/// The file that the manifest says it describes; nothing where the text is no manifest.
std::optional<std::string> BinaryOf(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  auto binary =
      json.is_object() && json.contains("etc_manifest") ? json.find("binary") : json.end();
  if (binary == json.end() || !binary->is_object() || !binary->contains("file") ||
      !(*binary)["file"].is_string()) {
    return std::nullopt;
  }
  return (*binary)["file"].get<std::string>();
}

}  // namespace

bool CheckManifestPlace(const std::string& manifest, const std::string& binary,
                        Diagnostics& diagnostics) {
  std::error_code failed;
  if (!fs::is_regular_file(manifest, failed)) {
    return true;
  }
  auto text = ReadInput(manifest, diagnostics);
  if (!text) {
    return false;
  }
  auto other = BinaryOf(*text);
  if (!other) {
    diagnostics
        .Error(
            DiagnosticKind::File, {},
            fmt::format("`{}` exists and is not a manifest; the manifest of `{}` would replace it",
                        manifest, binary))
        .notes.push_back({{}, "choose another `-o`, or remove the file"});
    return false;
  }
  fs::path place = fs::path(manifest).parent_path() / *other;
  if (*other == fs::path(binary).filename() || !fs::exists(place, failed)) {
    return true;
  }
  diagnostics
      .Error(DiagnosticKind::File, {},
             fmt::format("`{}` is the manifest of `{}`, which is of no use without it; the one of "
                         "`{}` would replace it",
                         manifest, place.string(), binary))
      .notes.push_back({{}, "choose another `-o`, or remove the files"});
  return false;
}

}  // namespace etc
