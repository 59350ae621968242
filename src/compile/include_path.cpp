#include "compile/include_path.h"

#include <algorithm>
#include <filesystem>

#include "emit/builtin_headers.h"
#include "support/files.h"

namespace etc {
namespace {

/// What the name of a file that is built into etc begins with in messages.
constexpr std::string_view kBuiltin = "<etc>/";

}  // namespace

HeaderReader IncludePath::Reader() {
  return [this](const std::string& name) -> std::optional<std::string> {
    for (const std::string& folder : folders_) {
      if (auto text = ReadFile((std::filesystem::path(folder) / name).string())) {
        return text;
      }
    }
    return BuiltinHeader(name);
  };
}

ImportReader IncludePath::Imports() {
  return [this](const std::string& name, const std::string& from) -> std::optional<ImportedText> {
    std::vector<std::string> folders = folders_;
    if (!from.starts_with(kBuiltin)) {
      folders.insert(folders.begin(), std::filesystem::path(from).parent_path().string());
    }
    for (const std::string& folder : folders) {
      std::string path = (std::filesystem::path(folder) / name).lexically_normal().string();
      if (auto text = ReadFile(path)) {
        return ImportedText{std::move(path), std::move(*text)};
      }
    }
    auto text = name.ends_with(".etir") ? BuiltinHeader(name) : std::nullopt;
    return text ? std::optional(ImportedText{std::string(kBuiltin) + name, std::move(*text)})
                : std::nullopt;
  };
}

std::optional<std::string> IncludePath::ReadFile(const std::string& path) {
  Diagnostics not_there;  // the next folder may have it
  auto text = ReadInput(path, not_there);
  if (text && std::find(used_.begin(), used_.end(), path) == used_.end()) {
    used_.push_back(path);
  }
  return text;
}

}  // namespace etc
