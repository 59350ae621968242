// Where imported files and the headers of impls come from: the folders of -I, then those built into
// etc.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emit/emit.h"
#include "support/files.h"
#include "text/parser.h"

namespace etc {

class IncludePath {
 public:
  explicit IncludePath(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  /// A reader for the emitter; valid while this lives.
  HeaderReader Reader();
  /// The same for the parser. A file is looked for beside the one that imports it first.
  ImportReader Imports();

  /// The files read so far, each once, in the order of their first use.
  const std::vector<std::string>& used() const { return used_; }

 private:
  std::optional<ImportedText> Read(const std::string& path);
  /// The path under which the file was first met: links to it are no other files.
  std::string NameOf(const std::string& path);

  std::vector<std::string> folders_;
  std::vector<std::string> used_;
  std::map<FileId, std::string> names_;
};

}  // namespace etc
