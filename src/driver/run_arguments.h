// Checks the arguments of `etc run` against the source before it is compiled.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/module.h"
#include "support/assignments.h"
#include "support/diagnostics.h"

namespace etc {

struct RunArguments {
  const std::string& graph;  // empty: the only one
  const std::map<std::string, int64_t>& dims;
  const Assignments& inputs;   // files by parameter
  const Assignments& outputs;  // the same
};

/// Reports graphs, dimensions and parameters that do not exist, sizes outside of their range or
/// against a requirement, files that cannot be read, and .npy files whose header does not fit their
/// parameter, as far as the dimensions are given.
[[nodiscard]] bool CheckRunArguments(const Module& module, const RunArguments& arguments,
                                     Diagnostics& diagnostics);

}  // namespace etc
