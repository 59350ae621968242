// A function as what a call sees of it.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"

namespace etc {

/// A device function or a graph.
struct Callee {
  std::string name;
  const std::vector<SymbolId>& generics;
  const std::vector<TensorId>& params;
  SourceRange range;
};

}  // namespace etc
