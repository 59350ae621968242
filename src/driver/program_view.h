// What a loaded artifact says about itself, gathered from the runtime library.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "etc/runtime.hpp"
#include "support/diagnostics.h"

namespace etc {

struct GraphView {
  std::string name;
  std::vector<etc_dim_info> dims;
  std::vector<etc_param_info> params;
  std::vector<etc_kernel_info> kernels;

  std::vector<std::string> DimNames() const;
  /// The names of the parameters that a launch reads, or of those that it writes.
  std::vector<std::string> InputNames() const;
  std::vector<std::string> OutputNames() const;
};

/// All graphs of the program, in its order.
[[nodiscard]] std::vector<GraphView> ViewGraphs(const Program& program);

/// The graph of that name, or the only one for an empty name. Reports [command-line] errors.
[[nodiscard]] std::optional<GraphView> SelectGraph(const Program& program, const std::string& name,
                                                   Diagnostics& diagnostics);

/// Reports a failure of the runtime library under the kind that its status asks for.
void ReportRuntimeError(const Error& error, Diagnostics& diagnostics);

}  // namespace etc
