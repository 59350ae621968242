// Constants that the command line or a model's configuration overrides.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// A new value for a constant. `origin` says where it comes from (`-D`, or a file's name).
struct Override {
  std::string name;
  std::variant<int64_t, double, bool> value;
  std::string origin;
  bool required = false;  // an unknown name is an error (`-D`), not ignored (a configuration)
};

/// Replaces the values of the named constants. An integer may override a float constant; any other
/// change of kind is an error. Derived constants follow, since they refer to the ones replaced.
[[nodiscard]] bool OverrideConstants(Module& module, const std::vector<Override>& overrides,
                                     Diagnostics& diagnostics);

}  // namespace etc
