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

/// The configurations and the tuning file. No output may replace these, while one may replace the
/// text of the source.
[[nodiscard]] std::vector<std::string> SettingsOf(const SourceOptions& source);

/// A source alone, or what an artifact consists of: where it is one of two files, the other may
/// have these names.
[[nodiscard]] std::vector<std::string> FilesOf(const std::string& file);

/// The same with the settings.
[[nodiscard]] std::vector<std::string> FilesOf(const SourceOptions& source);

}  // namespace etc
