// The files that a subcommand writes, held against those that it reads.
#pragma once

#include <string>
#include <vector>

#include "compile/options.h"
#include "compile/session.h"

namespace etc {

/// Whether no output would take the place of another or of an input, nor, once the source is read,
/// of what it imports.
[[nodiscard]] bool CheckOutputs(const std::vector<std::string>& outputs,
                                const std::vector<std::string>& inputs, Session& session);

/// The configurations and the tuning file. No output may replace these, while one may replace the
/// text of the source.
[[nodiscard]] std::vector<std::string> SettingsOf(const SourceOptions& source);

/// A source alone, or what an artifact consists of: where it is one of two files, the other may
/// have these names.
[[nodiscard]] std::vector<std::string> FilesOf(const std::string& file);

/// The same with the settings.
[[nodiscard]] std::vector<std::string> FilesOf(const SourceOptions& source);

}  // namespace etc
