#include "driver/output_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "runtime/container.h"
#include "support/files.h"
#include "tensor/program_view.h"

namespace etc {

bool CheckOutputsDiffer(const std::vector<std::string>& outputs,
                        const std::vector<std::string>& inputs, Diagnostics& diagnostics) {
  auto refuse = [&](std::string message) {
    diagnostics.Error(DiagnosticKind::CommandLine, {}, std::move(message));
    return false;
  };
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    std::error_code not_there;
    const auto type = std::filesystem::status(*output, not_there).type();
    const bool is_replaced = type == std::filesystem::file_type::regular ||
                             type == std::filesystem::file_type::not_found;
    if (output->empty() || *output == "-" || !is_replaced) {
      continue;
    }
    auto is_it = [&](const std::string& other) { return IsSameFile(*output, other); };
    auto input = std::find_if(inputs.begin(), inputs.end(), is_it);
    if (input != inputs.end()) {
      return refuse(fmt::format("the output `{}` would replace the input `{}`", *output, *input));
    }
    if (std::any_of(outputs.begin(), output, is_it)) {
      return refuse(fmt::format("two outputs are called `{}`", *output));
    }
  }
  return true;
}

std::vector<std::string> SettingsOf(const SourceOptions& source) {
  std::vector<std::string> files = source.configs;
  files.push_back(source.tuning);
  return files;
}

std::vector<std::string> FilesOf(const std::string& file) {
  const std::filesystem::path path(file);
  std::vector<std::string> files = {file};
  if (IsArtifact(file) && path.extension() != runtime::kContainerExtension) {
    for (const char* extension : {".json", ".so", ".cubin"}) {
      files.push_back(std::filesystem::path(path).replace_extension(extension).string());
    }
  }
  return files;
}

std::vector<std::string> FilesOf(const SourceOptions& source) {
  std::vector<std::string> files = SettingsOf(source);
  std::ranges::copy(FilesOf(source.file), std::back_inserter(files));
  return files;
}

}  // namespace etc
