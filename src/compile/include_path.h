// Where the headers of impls come from: the folders of -I, then those built into etc.
#pragma once

#include <string>
#include <vector>

#include "emit/emit.h"

namespace etc {

class IncludePath {
 public:
  explicit IncludePath(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  /// A reader for the emitter; valid while this lives.
  HeaderReader Reader();

  /// The files read so far, each once, in the order of their first use.
  const std::vector<std::string>& used() const { return used_; }

 private:
  std::vector<std::string> folders_;
  std::vector<std::string> used_;
};

}  // namespace etc
