#include "tensor/program_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <new>
#include <string_view>

#include "runtime/container.h"

namespace etc {
namespace {

DiagnosticKind KindOf(etc_status status) {
  switch (status) {
    case ETC_ERROR_FILE:
      return DiagnosticKind::File;
    case ETC_ERROR_BINARY:
      return DiagnosticKind::Mismatch;
    case ETC_ERROR_NOT_FOUND:
    case ETC_ERROR_DIM:
      return DiagnosticKind::CommandLine;
    case ETC_ERROR_OUT_OF_MEMORY:
    case ETC_ERROR_NO_DEVICE:
    case ETC_ERROR_DEVICE:
      return DiagnosticKind::Device;
    case ETC_ERROR_TIMEOUT:
      return DiagnosticKind::Watchdog;
    default:
      return DiagnosticKind::Data;
  }
}

template <class Keep>
std::vector<std::string> NamesOf(const std::vector<etc_param_info>& params, Keep keep) {
  std::vector<std::string> names;
  for (const etc_param_info& param : params) {
    if (keep(param)) {
      names.emplace_back(param.name);
    }
  }
  return names;
}

}  // namespace

bool IsArtifact(const std::string& file) {
  std::string extension = std::filesystem::path(file).extension().string();
  return extension == ".json" || extension == ".cubin" || extension == ".so" ||
         extension == runtime::kContainerExtension;
}

bool IsForHost(const Program& program) {
  return std::string_view(program.Describe().target) == "host";
}

std::vector<std::string> GraphView::DimNames() const {
  std::vector<std::string> names;
  for (const etc_dim_info& dim : dims) {
    names.emplace_back(dim.name);
  }
  return names;
}

std::vector<std::string> GraphView::InputNames() const {
  return NamesOf(params, [](const etc_param_info& param) { return param.access != ETC_OUT; });
}

std::vector<std::string> GraphView::OutputNames() const {
  return NamesOf(params, [](const etc_param_info& param) { return param.access != ETC_IN; });
}

std::vector<GraphView> ViewGraphs(const Program& program) {
  std::vector<GraphView> graphs;
  for (int32_t i = 0; i < program.Describe().graphs; ++i) {
    etc_graph_info info = program.Graph(i);
    GraphView graph;
    graph.name = info.name;
    graph.mesh = info.mesh != nullptr ? info.mesh : "";
    for (int32_t d = 0; d < info.dims; ++d) {
      graph.dims.push_back(program.Dim(info.name, d));
    }
    for (int32_t p = 0; p < info.params; ++p) {
      graph.params.push_back(program.Param(info.name, p));
    }
    for (int32_t k = 0; k < info.kernels; ++k) {
      graph.kernels.push_back(program.Kernel(info.name, k));
    }
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

void ReportNoGraph(const std::string& name, const std::vector<std::string>& names,
                   Diagnostics& diagnostics) {
  std::string choices =
      names.empty() ? "it has none" : fmt::format("it has `{}`", fmt::join(names, "`, `"));
  diagnostics.Error(DiagnosticKind::CommandLine, {},
                    name.empty() ? fmt::format("which graph? {}: `--graph NAME`", choices)
                                 : fmt::format("the program has no graph `{}`; {}", name, choices));
}

std::optional<GraphView> SelectGraph(const Program& program, const std::string& name,
                                     Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (GraphView& graph : ViewGraphs(program)) {
    if (graph.name == name || (name.empty() && program.Describe().graphs == 1)) {
      return std::move(graph);
    }
    names.push_back(graph.name);
  }
  ReportNoGraph(name, names, diagnostics);
  return std::nullopt;
}

namespace {

/// The type of a parameter as text, with all that its elements must be: `inout bf16[n, 4] tile(8,
/// 32)`.
std::string TypeOf(const etc_param_info& param) {
  constexpr std::string_view kAccess[] = {"", "out ", "inout "};
  std::vector<std::string> extents(param.extents, param.extents + param.rank);
  std::string text = fmt::format("{}{}[{}]", kAccess[param.access], etc_dtype_name(param.dtype),
                                 fmt::join(extents, ", "));
  if (param.has_tile != 0) {
    text += fmt::format(" tile({}, {}{})", param.tile[0], param.tile[1],
                        param.swizzle != 0 ? ", swizzle" : "");
  }
  if (param.has_value_range != 0) {
    text += fmt::format(" in {}..{}", param.value_min, param.value_max);
  }
  return text + (param.distinct != 0 ? " distinct" : "") + (param.monotone != 0 ? " monotone" : "");
}

}  // namespace

std::string Difference(const Program& a, const Program& b, const std::string& graph) {
  std::string_view targets[] = {a.Describe().target, b.Describe().target};
  if (targets[0] != targets[1]) {
    return fmt::format("the target: {} and {}", targets[0], targets[1]);
  }
  Diagnostics not_there;
  auto in_a = SelectGraph(a, graph, not_there);
  auto in_b = SelectGraph(b, graph, not_there);
  if (!in_a || !in_b) {
    return fmt::format("the graph `{}`, which one of them has", graph);
  }
  if (in_a->DimNames() != in_b->DimNames()) {
    return fmt::format("the dimensions: `{}` and `{}`", fmt::join(in_a->DimNames(), "`, `"),
                       fmt::join(in_b->DimNames(), "`, `"));
  }
  if (in_a->params.size() != in_b->params.size()) {
    return fmt::format("the number of parameters: {} and {}", in_a->params.size(),
                       in_b->params.size());
  }
  for (size_t i = 0; i < in_a->params.size(); ++i) {
    const etc_param_info& one = in_a->params[i];
    const etc_param_info& other = in_b->params[i];
    std::string texts[] = {fmt::format("%{}: {}", one.name, TypeOf(one)),
                           fmt::format("%{}: {}", other.name, TypeOf(other))};
    if (texts[0] != texts[1]) {
      return fmt::format("a parameter: `{}` and `{}`", texts[0], texts[1]);
    }
  }
  return "";
}

namespace {

Diagnostic& ReportRuntimeError(const Error& error, Diagnostics& diagnostics) {
  switch (error.status()) {
    case ETC_ERROR_ARGUMENT:
    case ETC_ERROR_UNBOUND:
    case ETC_ERROR_CAPTURE:
    case ETC_ERROR_INTERNAL:
      InternalError(__FILE__, __LINE__, error.what());
    default:
      return diagnostics.Error(KindOf(error.status()), {}, error.what());
  }
}

}  // namespace

void ReportFailures(const std::function<void()>& work, Diagnostics& diagnostics,
                    const std::function<void(etc_status, Diagnostic&)>& add_notes) {
  try {
    work();
  } catch (const Error& error) {
    Diagnostic& report = ReportRuntimeError(error, diagnostics);
    if (add_notes) {
      add_notes(error.status(), report);
    }
  } catch (const std::bad_alloc&) {
    diagnostics.Error(DiagnosticKind::Device, {},
                      "the tensors do not fit in the memory of this machine");
  }
}

}  // namespace etc
