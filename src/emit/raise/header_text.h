// Headers pasted into a translation unit, so that it compiles without an include path.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "support/diagnostics.h"

namespace etc {

/// Finds the text of a header that an impl or a header names, first in the include path, then
/// among the headers built into etc. Nothing where there is none.
using HeaderReader = std::function<std::optional<std::string>(const std::string& name)>;

class HeaderText {
 public:
  HeaderText(const HeaderReader& reader, Diagnostics& diagnostics)
      : reader_(reader), diagnostics_(diagnostics) {}

  /// Appends the text of a header and of what it includes, each once. False, with an error at
  /// `range`, when one is not found.
  bool Append(const std::string& name, SourceRange range, std::string& out);

  /// Treats a header as already there.
  void Skip(const std::string& name) { skipped_.insert(name); }

 private:
  const HeaderReader& reader_;
  Diagnostics& diagnostics_;
  std::set<std::string> done_;  // texts, since one header can go by two names
  std::set<std::string> skipped_;
};

}  // namespace etc
