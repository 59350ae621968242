#include "driver/output_files.h"

#include <algorithm>
#include <filesystem>

#include "compile/outputs_differ.h"
#include "runtime/container.h"
#include "tensor/program_view.h"

namespace etc {

bool CheckOutputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs,
                  Session& session) {
  session.SetOutputs(outputs);
  return CheckOutputsDiffer(outputs, inputs, session.diagnostics());
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
