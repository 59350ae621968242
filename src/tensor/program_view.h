// What a loaded artifact says about itself, gathered from the runtime library.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "etc/runtime.hpp"
#include "support/diagnostics.h"

namespace etc {

/// Whether a file's name is that of an artifact: a manifest, a binary, or both in one.
[[nodiscard]] bool IsArtifact(const std::string& file);

/// Whether the program runs on this machine's threads.
[[nodiscard]] bool IsForHost(const Program& program);

struct GraphView {
  std::string name;
  std::string mesh;  // the dim that is the number of ranks; empty: the graph runs alone
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

/// Says that there is no graph of that name, or for an empty one that there are several.
void ReportNoGraph(const std::string& name, const std::vector<std::string>& names,
                   Diagnostics& diagnostics);

/// The graph of that name, or the only one for an empty name. Reports [command-line] errors.
[[nodiscard]] std::optional<GraphView> SelectGraph(const Program& program, const std::string& name,
                                                   Diagnostics& diagnostics);

/// What tells two programs' ways to take a graph's tensors apart, completing "they differ in ...";
/// empty where nothing does.
[[nodiscard]] std::string Difference(const Program& a, const Program& b, const std::string& graph);

/// Calls `work`, and reports a failure of the runtime library under the kind that its status asks
/// for, or that the memory of this machine ran out. `add_notes` may say more about the former.
void ReportFailures(const std::function<void()>& work, Diagnostics& diagnostics,
                    const std::function<void(etc_status, Diagnostic&)>& add_notes = {});

}  // namespace etc
