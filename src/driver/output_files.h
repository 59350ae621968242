// The files that a subcommand writes, held against those that it reads.
#pragma once

#include <string>
#include <vector>

#include "compile/options.h"
#include "support/diagnostics.h"

namespace etc {

/// Whether no output would take the place of another or of an input: `--config model.json -o
/// model.cubin` would put the manifest over the configuration. An empty name stands for no file;
/// `-` and a device are not replaced.
[[nodiscard]] bool CheckOutputsDiffer(const std::vector<std::string>& outputs,
                                      const std::vector<std::string>& inputs,
                                      Diagnostics& diagnostics);

/// What a command reads beside its source, whose text another one may replace: configurations and
/// the tuning file.
[[nodiscard]] std::vector<std::string> SettingsOf(const SourceOptions& source);

/// The source and its settings.
[[nodiscard]] std::vector<std::string> FilesOf(const SourceOptions& source);

/// An artifact, also where it is named by one of its two files: the other may have these names.
[[nodiscard]] std::vector<std::string> FilesOfArtifact(const std::string& file);

}  // namespace etc
