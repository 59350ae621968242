// Names for the values of generic parameters that follow from other parameters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "expand/deduce.h"
#include "ir/module.h"
#include "ir/rewrite.h"

namespace etc {

/// The constants that stand for long values of generic parameters, one for each callee, parameter
/// and value.
class NamedConstants {
 public:
  explicit NamedConstants(Module& module) : module_(module) {}

  /// Puts a constant in the place of each value that is long and constant, and a literal in the
  /// place of a condition on literals. A new constant is added to `made`.
  void Name(const Callee& callee, Substitution& values, std::vector<Item>& made);

 private:
  Module& module_;
  std::map<std::string, SymbolId> names_;  // by callee, name and value
};

/// Constants of two files may have one name: each gets its own.
void TellConstantsApart(Module& module);

}  // namespace etc
