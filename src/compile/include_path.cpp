#include "compile/include_path.h"

#include <algorithm>
#include <filesystem>

#include "emit/builtin_headers.h"

namespace etc {
namespace {

/// What the name of a file that is built into etc begins with in messages.
constexpr std::string_view kBuiltin = "<etc>/";

}  // namespace

HeaderReader IncludePath::Reader() {
  return [this](const std::string& name) -> std::optional<std::string> {
    for (const std::string& folder : folders_) {
      if (auto found = Read((std::filesystem::path(folder) / name).string())) {
        return std::move(found->text);
      }
    }
    return BuiltinHeader(name);
  };
}

ImportReader IncludePath::Imports() {
  return [this](const std::string& name, const std::string& from) -> std::optional<ImportedText> {
    std::vector<std::string> folders = folders_;
    if (!from.starts_with(kBuiltin)) {
      (void)NameOf(from);  // the source itself, which nobody imports, is known by its name too
      folders.insert(folders.begin(), std::filesystem::path(from).parent_path().string());
    }
    for (const std::string& folder : folders) {
      if (auto found = Read((std::filesystem::path(folder) / name).lexically_normal().string())) {
        return found;
      }
    }
    auto text = name.ends_with(".etir") ? BuiltinHeader(name) : std::nullopt;
    return text ? std::optional(ImportedText{std::string(kBuiltin) + name, std::move(*text)})
                : std::nullopt;
  };
}

std::optional<ImportedText> IncludePath::Read(const std::string& path) {
  Diagnostics not_there;  // the next folder may have it
  auto text = ReadInput(path, not_there);
  if (!text) {
    return std::nullopt;
  }
  std::string name = NameOf(path);
  if (std::find(used_.begin(), used_.end(), name) == used_.end()) {
    used_.push_back(name);
  }
  return ImportedText{std::move(name), std::move(*text)};
}

std::string IncludePath::NameOf(const std::string& path) {
  auto id = FindFileId(path);
  return id ? names_.try_emplace(*id, path).first->second : path;
}

}  // namespace etc
