// From source text to a module.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// A file that an `import` names.
struct ImportedText {
  std::string path;  // what tells it from others, and what messages call it
  std::string text;
};

/// Finds the file that `from` imports as `name`; nothing where there is none.
using ImportReader =
    std::function<std::optional<ImportedText>(const std::string& name, const std::string& from)>;

/// What an imported file that is not there means: an error; or, to who only prints the text again,
/// that names which nobody defines are its own.
enum class AbsentImports { Refused, Assumed };

/// Parses `source` and resolves names. Reports every error it can find in one run (it
/// resynchronises at `;` and `}`); the module is null when there was one. Checks nothing beyond
/// syntax and names.
///
/// The texts that are imported are added to `source`. Their names are known behind the `import`,
/// but not those that they import in turn nor those that begin with `_`, and they know none of
/// `source`.
[[nodiscard]] std::unique_ptr<Module> Parse(SourceFile& source, const ImportReader& reader,
                                            Diagnostics& diagnostics,
                                            AbsentImports absent = AbsentImports::Refused);
/// The same for a text without imports.
[[nodiscard]] std::unique_ptr<Module> Parse(const SourceFile& source, Diagnostics& diagnostics);

}  // namespace etc
