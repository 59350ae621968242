// `etc graph`: load → picture → DOT → SVG.
#include <fmt/format.h>

#include <set>

#include "analysis/sets/used_dims.h"
#include "compile/front.h"
#include "compile/sizes.h"
#include "driver/commands.h"
#include "driver/output_files.h"
#include "picture/picture.h"
#include "schedule/lower.h"
#include "support/assignments.h"
#include "support/files.h"
#include "support/scratch_directory.h"
#include "toolchain/subprocess.h"

namespace etc {
namespace {

using Dims = std::map<std::string, int64_t>;

/// The dimensions that what is drawn depends on, and those whose ranges tell kernels apart.
std::set<SymbolId> DrawnDims(const Module& module, const std::string& only) {
  std::set<SymbolId> dims;
  auto add = [&](const auto& drawn, const auto& ranges) {
    if (!only.empty() && only != drawn.name) {
      return;
    }
    dims.merge(UsedDims(module, MakeCallProgram(module, drawn)));
    for (const auto& one : ranges) {
      dims.insert(one.dim);
    }
  };
  for (const Item& item : module.items) {
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      add(module.graphs[*graph], module.graphs[*graph].specialisations);
    } else if (const auto* kernel = std::get_if<KernelId>(&item)) {
      add(module.kernels[*kernel], module.kernels[*kernel].where);
    }
  }
  return dims;
}

/// The sizes that `--dims` gives, each in its range: of `needed` one for each dimension that may
/// have several.
std::optional<Sizes> ReadSizes(const Module& module, const std::set<SymbolId>& needed,
                               const Dims& values, Diagnostics& diagnostics) {
  Sizes sizes;
  std::vector<std::string> known;
  bool ok = true;
  for (SymbolId id : module.symbols.Ids()) {
    const Symbol& symbol = module.symbols[id];
    if (symbol.kind != SymbolKind::Dim) {
      continue;
    }
    known.push_back(symbol.name);
    auto value = values.find(symbol.name);
    if (value == values.end()) {
      auto range = RangeOfDim(module, id);
      if (range && range->lo == range->hi) {
        sizes.dims[id] = range->lo;
      } else if (needed.contains(id)) {
        diagnostics.Error(DiagnosticKind::CommandLine, symbol.range,
                          fmt::format("`--dims` gives no value for `{}`", symbol.name));
        ok = false;
      }
    } else if (CheckSize(module, id, value->second, "--dims", diagnostics)) {
      sizes.dims[id] = value->second;
    } else {
      ok = false;
    }
  }
  ok &= CheckNames(values, "--dims", "dimension", known, diagnostics);
  return ok ? std::optional(sizes) : std::nullopt;
}

/// Narrows each specialised dimension to the range that holds its value.
Sizes Narrowed(const Module& module, const Graph& graph, Sizes sizes) {
  for (const Specialisation& one : graph.specialisations) {
    for (const DimRange& range : one.ranges) {
      auto lo = EvaluateInt(module, range.lo, {});
      auto hi = EvaluateInt(module, range.hi, {});
      if (lo && hi && *lo <= sizes.dims[one.dim] && sizes.dims[one.dim] <= *hi) {
        sizes.ranges[one.dim] = {*lo, *hi};
      }
    }
  }
  return sizes;
}

/// The same for a kernel; nothing when it is not for these sizes.
std::optional<Sizes> Narrowed(const Module& module, const Kernel& kernel, Sizes sizes) {
  for (const Where& where : kernel.where) {
    auto lo = EvaluateInt(module, where.lo, {});
    auto hi = EvaluateInt(module, where.hi, {});
    if (!lo || !hi || sizes.dims[where.dim] < *lo || sizes.dims[where.dim] > *hi) {
      return std::nullopt;
    }
    sizes.ranges[where.dim] = {*lo, *hi};
  }
  return sizes;
}

bool Draw(const Module& module, const GraphOptions& options, const std::optional<Sizes>& sizes,
          Picture& picture, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  bool ok = true;
  auto add = [&](const auto& drawn, const char* word, const std::optional<Sizes>& narrowed) {
    names.push_back(drawn.name);
    if (!options.graph.empty() && options.graph != drawn.name) {
      return;
    }
    CallProgram program = MakeCallProgram(module, drawn);
    std::string label = fmt::format("{} @{}", word, drawn.name);
    if (!sizes) {
      AddCalls(module, program, label, picture);
    } else if (narrowed) {
      ok &= AddTasks(module, program, label, *narrowed, drawn.range, picture, diagnostics);
    }
  };
  for (const Item& item : module.items) {
    if (const auto* id = std::get_if<GraphId>(&item)) {
      const Graph& graph = module.graphs[*id];
      add(graph, "graph", sizes ? std::optional(Narrowed(module, graph, *sizes)) : std::nullopt);
    } else if (const auto* id = std::get_if<KernelId>(&item)) {
      const Kernel& kernel = module.kernels[*id];
      add(kernel, "kernel", sizes ? Narrowed(module, kernel, *sizes) : std::nullopt);
    }
  }
  bool known = options.graph.empty() ||
               CheckName(options.graph, "--graph", "graph or kernel", names, diagnostics);
  return ok && known;
}

/// The output of `dot` for the text.
std::optional<std::string> MakeSvg(const std::string& text, Diagnostics& diagnostics) {
  if (!IsExecutable("dot")) {
    diagnostics
        .Error(DiagnosticKind::Toolchain, {}, "cannot find `dot`, which lays out an SVG picture")
        .notes.push_back({{},
                          "it is in the package `graphviz` of Debian, Ubuntu, Fedora and Homebrew; "
                          "`--format dot` "
                          "needs no other program"});
    return std::nullopt;
  }
  ScratchDirectory scratch;
  if (!scratch.Write("graph.dot", text)) {
    diagnostics.Error(DiagnosticKind::File, {}, scratch.error());
    return std::nullopt;
  }
  ProcessResult result =
      RunProcess({"dot", "-Tsvg", "-o", "graph.svg", "graph.dot"}, scratch.path());
  if (!result.Succeeded()) {
    diagnostics
        .Error(DiagnosticKind::Toolchain, {},
               fmt::format("`dot` failed with exit code {}", result.exit_code))
        .notes.push_back({{}, result.output});
    return std::nullopt;
  }
  return ReadInput(scratch.path() + "/graph.svg", diagnostics);
}

}  // namespace

ExitCode Execute(const GraphOptions& options) {
  Session session(options.source.diagnostics);
  Diagnostics& diagnostics = session.diagnostics();
  if (!CheckOutputs({options.output}, FilesOf(options.source), session)) {
    return session.Finish();
  }
  auto module = LoadModule(options.source, session);
  if (!module || !DeriveEvents(*module, {}, diagnostics)) {
    return session.Finish(ExitCode::InputWrong);
  }
  std::optional<Sizes> sizes;
  if (!options.dims.empty()) {
    auto values = ParseIntAssignments(options.dims, "--dims", diagnostics);
    sizes = values ? ReadSizes(*module, DrawnDims(*module, options.graph), *values, diagnostics)
                   : std::nullopt;
    if (!sizes) {
      return session.Finish();
    }
  }
  Picture picture;
  if (!Draw(*module, options, sizes, picture, diagnostics)) {
    return session.Finish();
  }
  bool svg =
      options.format ? *options.format == PictureFormat::Svg : options.output.ends_with(".svg");
  std::optional<std::string> text = PrintDot(picture);
  if (svg) {
    text = MakeSvg(*text, diagnostics);
  }
  if (text) {
    (void)WriteText(options.output, *text, diagnostics);
  }
  return session.Finish();
}

}  // namespace etc
