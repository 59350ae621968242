#include "report/artifact_view.h"

#include <fmt/format.h>

#include <filesystem>

#include "runtime/container.h"
#include "runtime/hash.h"
#include "runtime/manifest_expr.h"
#include "runtime/manifest_reader.h"
#include "support/files.h"

namespace etc {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestStart = 64;  // bytes that tell a container

/// What is wrong with the bytes of the binary, or nothing.
std::string ProblemOf(const manifest::Binary& expected, const std::string& bytes) {
  if (static_cast<int64_t>(bytes.size()) != expected.bytes) {
    return fmt::format("it has {} bytes; the manifest says {}", bytes.size(), expected.bytes);
  }
  if (std::string hash = runtime::HashText(bytes); hash != expected.xxh3_128) {
    return fmt::format("its hash is {}; the manifest says {}", hash, expected.xxh3_128);
  }
  return "";
}

/// The value of a manifest's expression, which says how large `what` is; reports one that has none.
bool EvaluateTo(const manifest::Expr& expr, const std::vector<int64_t>& dims,
                const std::string& what, int64_t& value, Diagnostics& diagnostics) {
  runtime::Status status = runtime::Evaluate(expr, dims, &value);
  if (!status.Ok()) {
    diagnostics.Error(DiagnosticKind::Data, {},
                      fmt::format("the size of {} {}", what, status.message));
  }
  return status.Ok();
}

bool ReadInto(ArtifactView& view, std::string_view text, Diagnostics& diagnostics) {
  runtime::Status status = runtime::ReadManifest(text, &view.manifest);
  if (!status.Ok()) {
    diagnostics.Error(DiagnosticKind::Data, {},
                      fmt::format("`{}`: {}", view.manifest_path, status.message));
  }
  return status.Ok();
}

/// Holds the binary against the manifest, if there is one.
void HoldBinary(ArtifactView& view, const std::optional<std::string>& bytes,
                Diagnostics& diagnostics) {
  if (!bytes) {
    view.binary_state = BinaryState::Missing;
  } else if (std::string problem = ProblemOf(view.manifest.binary, *bytes); !problem.empty()) {
    view.binary_state = BinaryState::Mismatch;
    diagnostics.Error(DiagnosticKind::Mismatch, {},
                      fmt::format("`{}` is not the binary of `{}`: {}", view.binary_path,
                                  view.manifest_path, problem));
  }
}

std::optional<ArtifactView> ViewContainer(const std::string& path, const std::string& bytes,
                                          Diagnostics& diagnostics) {
  ArtifactView view;
  view.manifest_path = view.binary_path = path;
  runtime::ContainerParts parts;
  runtime::Status status = runtime::ReadContainer(bytes, &parts);
  if (!status.Ok()) {
    diagnostics.Error(DiagnosticKind::Mismatch, {},
                      fmt::format("artifact `{}` {}", path, status.message));
    return std::nullopt;
  }
  if (!ReadInto(view, parts.manifest, diagnostics)) {
    return std::nullopt;
  }
  HoldBinary(view, std::string(parts.binary), diagnostics);
  return view;
}

}  // namespace

std::optional<ArtifactView> ViewArtifact(const std::string& path, Diagnostics& diagnostics) {
  if (path == "-") {
    diagnostics.Error(DiagnosticKind::CommandLine, {},
                      "an artifact is read from its file, not from standard input");
    return std::nullopt;
  }
  if (path.ends_with(".etir")) {
    diagnostics.Error(DiagnosticKind::CommandLine, {},
                      fmt::format("`{}` is a source; `etc compile` makes an artifact of it", path));
    return std::nullopt;
  }
  const bool is_manifest = fs::path(path).extension() == ".json";
  ArtifactView view;
  view.manifest_path = fs::path(path).replace_extension(".json").string();
  std::optional<std::string> given;
  if (!is_manifest) {
    // Before all of a file is read that is something else, and perhaps large.
    const std::optional<std::string> start = ReadStart(path, kLongestStart);
    const bool is_container =
        path.ends_with(runtime::kContainerExtension) || (start && runtime::IsContainer(*start));
    if (start && !is_container && !fs::exists(view.manifest_path)) {
      diagnostics.Error(DiagnosticKind::Data, {},
                        fmt::format("`{}` is no artifact, and no manifest `{}` says that it is the "
                                    "binary of one",
                                    path, view.manifest_path));
      return std::nullopt;
    }
    given = ReadInput(path, diagnostics);
    if (!given) {
      return std::nullopt;
    }
    if (is_container) {
      return ViewContainer(path, *given, diagnostics);
    }
  }
  auto text = ReadInput(view.manifest_path, diagnostics);
  if (!text || !ReadInto(view, *text, diagnostics)) {
    return std::nullopt;
  }
  view.binary_path =
      (fs::path(view.manifest_path).parent_path() / view.manifest.binary.file).string();
  if (fs::path name = fs::path(path).filename();
      !is_manifest && name.string() != view.manifest.binary.file) {
    diagnostics.Error(DiagnosticKind::Mismatch, {},
                      fmt::format("`{}` describes `{}`, not `{}`", view.manifest_path,
                                  view.manifest.binary.file, name.string()));
    return std::nullopt;
  }
  if (!given) {
    given = ReadInput(view.binary_path, diagnostics);
  }
  HoldBinary(view, given, diagnostics);
  return view;
}

std::optional<KernelNeeds> NeedsOf(const manifest::Graph& graph, const manifest::Kernel& kernel,
                                   const std::map<std::string, int64_t>& dims,
                                   Diagnostics& diagnostics) {
  KernelNeeds needs;
  for (size_t i = 0; i < graph.dims.size(); ++i) {
    const manifest::Dim& dim = graph.dims[i];
    int64_t min = dim.min;
    int64_t max = dim.max;
    for (const manifest::Where& where : kernel.where) {
      if (where.dim == static_cast<int64_t>(i)) {
        min = where.min;
        max = where.max;
      }
    }
    auto given = dims.find(dim.name);
    if (given != dims.end() &&
        (given->second < min || given->second > max || given->second % dim.multiple != 0)) {
      return std::nullopt;
    }
    needs.dims.push_back(given != dims.end() ? given->second : max - max % dim.multiple);
  }
  for (const manifest::Param& param : graph.params) {
    int64_t bytes = etc_dtype_bytes(param.dtype);
    bool overflows = false;
    for (const manifest::Expr& extent : param.shape) {
      int64_t value = 0;
      if (!EvaluateTo(extent, needs.dims, fmt::format("parameter `{}`", param.name), value,
                      diagnostics)) {
        return std::nullopt;
      }
      overflows |= __builtin_mul_overflow(bytes, value, &bytes);
    }
    if (overflows || __builtin_add_overflow(needs.param_bytes, bytes, &needs.param_bytes)) {
      diagnostics.Error(
          DiagnosticKind::Data, {},
          fmt::format("the parameters of graph `{}` have more than 2^63 bytes at these "
                      "sizes; `--dim` sets others",
                      graph.name));
      return std::nullopt;
    }
  }
  if (!EvaluateTo(kernel.workspace_bytes, needs.dims,
                  fmt::format("the workspace of graph `{}`", graph.name), needs.workspace_bytes,
                  diagnostics) ||
      !EvaluateTo(kernel.event_counters, needs.dims,
                  fmt::format("the event memory of graph `{}`", graph.name), needs.event_counters,
                  diagnostics)) {
    return std::nullopt;
  }
  return needs;
}

std::string ShapeText(const manifest::Graph& graph, const manifest::Param& param) {
  std::string text;
  for (const manifest::Expr& extent : param.shape) {
    text += (text.empty() ? "" : ", ") + runtime::ToText(extent, graph.dims);
  }
  return text;
}

std::string TypeText(const manifest::Graph& graph, const manifest::Param& param) {
  manifest::Param one = param;
  std::string array;
  if (param.array) {
    array = fmt::format("array[{}] of ", runtime::ToText(param.shape[0], graph.dims));
    one.shape.erase(one.shape.begin());
  }
  return fmt::format("{}{}[{}]", array, etc_dtype_name(param.dtype), ShapeText(graph, one));
}

std::string ValuesText(const manifest::Graph& graph, const manifest::Param& param) {
  std::string text = param.values
                         ? fmt::format("{}..{}", runtime::ToText(param.values->min, graph.dims),
                                       runtime::ToText(param.values->max, graph.dims))
                         : "";
  for (const auto& [promised, word] :
       {std::pair{param.distinct, "distinct"}, std::pair{param.monotone, "monotone"}}) {
    if (promised) {
      text += (text.empty() ? "" : " ") + std::string(word);
    }
  }
  return text;
}

std::string ShardText(const manifest::Graph& graph, const manifest::Param& param) {
  std::string parts =
      param.parts ? fmt::format(" in {} parts", runtime::ToText(*param.parts, graph.dims)) : "";
  return param.shard ? fmt::format(", shard of axis {}{}", *param.shard, parts) : "";
}

std::string LayoutText(const manifest::Param& param) {
  return param.tile ? fmt::format("tile({}, {}{})", param.tile->rows, param.tile->columns,
                                  param.tile->swizzle ? ", swizzle" : "")
                    : "";
}

bool CheckSize(const manifest::Dim& dim, const std::map<std::string, int64_t>& given,
               Diagnostics& diagnostics) {
  const auto found = given.find(dim.name);
  if (found == given.end()) {
    return true;
  }
  const int64_t size = found->second;
  const bool in_range = dim.min <= size && size <= dim.max;
  if (in_range && size % dim.multiple == 0) {
    return true;
  }
  diagnostics.Error(DiagnosticKind::CommandLine, {},
                    fmt::format("`--dim {}={}` is not {}", dim.name, size,
                                in_range ? fmt::format("a multiple of {}", dim.multiple)
                                         : fmt::format("in {}..{}", dim.min, dim.max)));
  return false;
}

std::string WhereText(const manifest::Graph& graph, const manifest::Kernel& kernel) {
  std::string text;
  for (const manifest::Where& where : kernel.where) {
    text += fmt::format("{}{} in {}..{}", text.empty() ? "" : ", ",
                        graph.dims[static_cast<size_t>(where.dim)].name, where.min, where.max);
  }
  return text;
}

}  // namespace etc
