// `etc pack`: a tensor from row-major order to a parameter's layout, or back.
#include <fmt/format.h>

#include <algorithm>

#include "compile/outputs_differ.h"
#include "driver/commands.h"
#include "driver/output_files.h"
#include "etc/runtime.hpp"
#include "report/artifact_view.h"
#include "runtime/binding.h"
#include "runtime/layout.h"
#include "runtime/manifest_expr.h"
#include "support/assignments.h"
#include "support/files.h"
#include "tensor/program_view.h"
#include "tensor/tensor_data.h"

namespace etc {
namespace {

class PackJob {
 public:
  PackJob(const PackOptions& options, Diagnostics& diagnostics)
      : options_(options), diagnostics_(diagnostics) {}

  bool Run() {
    auto dims = ParseIntAssignments(options_.dims, "--dim", diagnostics_);
    auto view = dims ? ViewArtifact(options_.file, diagnostics_) : std::nullopt;
    std::vector<std::string> read = FilesOf(options_.file);
    read.push_back(options_.input);
    if (!view || !CheckOutputsDiffer({options_.output}, read, diagnostics_) ||
        !Find(view->manifest) || !CheckDims(*dims)) {
      return false;
    }
    TensorData tensor{param_->name, param_->access, param_->dtype, {}, {}};
    if (!IsNpyFile(options_.input) && !MakeShape(*dims, tensor.shape)) {
      return false;
    }
    return ReadTensor(options_.input, tensor, diagnostics_) &&
           (!options_.unpack || !IsNpyFile(options_.input) || TakeTiles(tensor.shape)) &&
           Pack(tensor);
  }

 private:
  bool Report(DiagnosticKind kind, std::string message) {
    diagnostics_.Error(kind, {}, std::move(message));
    return false;
  }

  bool Find(const manifest::Manifest& manifest) {
    std::vector<std::string> names;
    for (const manifest::Graph& graph : manifest.graphs) {
      names.push_back(graph.name);
    }
    if (options_.graph.empty() && manifest.graphs.size() != 1) {
      return Report(DiagnosticKind::CommandLine,
                    fmt::format("`{}` has {} graphs; `--graph NAME` says which", options_.file,
                                manifest.graphs.size()));
    }
    if (!options_.graph.empty() &&
        !CheckName(options_.graph, "--graph", "graph", names, diagnostics_)) {
      return false;
    }
    graph_ = &*std::find_if(manifest.graphs.begin(), manifest.graphs.end(),
                            [&](const manifest::Graph& graph) {
                              return options_.graph.empty() || graph.name == options_.graph;
                            });
    names.clear();
    for (const manifest::Param& param : graph_->params) {
      names.push_back(param.name);
      if (param.name == options_.param) {
        param_ = &param;
      }
    }
    if (!CheckName(options_.param, "--param", "parameter", names, diagnostics_)) {
      return false;
    }
    return param_->tile.has_value() ||
           Report(DiagnosticKind::CommandLine,
                  fmt::format("parameter `%{}` is row-major: it takes its elements as they are",
                              param_->name));
  }

  bool CheckDims(const std::map<std::string, int64_t>& given) {
    std::vector<std::string> names;
    bool ok = true;
    for (const manifest::Dim& dim : graph_->dims) {
      names.push_back(dim.name);
      ok &= CheckSize(dim, given, diagnostics_);
    }
    return CheckNames(given, "--dim", "dimension", names, diagnostics_) && ok;
  }

  /// The extents that elements without a shape have.
  bool MakeShape(const std::map<std::string, int64_t>& given, std::vector<int64_t>& shape) {
    std::vector<std::optional<int64_t>> known;
    std::vector<int64_t> values;
    for (const manifest::Dim& dim : graph_->dims) {
      auto found = given.find(dim.name);
      known.push_back(found == given.end() ? std::nullopt : std::optional(found->second));
      values.push_back(known.back().value_or(0));
    }
    for (const manifest::Expr& extent : param_->shape) {
      if (!runtime::IsKnown(extent, known)) {
        return Report(DiagnosticKind::CommandLine,
                      fmt::format("`{}` has no shape, and `%{}` is {}[{}]: `--dim` sets its sizes",
                                  options_.input, param_->name, etc_dtype_name(param_->dtype),
                                  ShapeText(*graph_, *param_)));
      }
      runtime::Status status = runtime::Evaluate(extent, values, &shape.emplace_back());
      if (!status.Ok()) {
        return Report(DiagnosticKind::Data, status.message);
      }
    }
    return true;
  }

  bool Fits(const runtime::Status& status) {
    return status.Ok() || Report(DiagnosticKind::Data, fmt::format("`{}` does not fit: {}",
                                                                   options_.input, status.message));
  }

  /// From the shape that a packed tensor has to the parameter's.
  bool TakeTiles(std::vector<int64_t>& shape) {
    const std::vector<int64_t> packed = shape;
    return Fits(runtime::ShapeOf(
        *param_,
        {nullptr, param_->dtype, static_cast<int32_t>(packed.size()), packed.data(), nullptr},
        &shape));
  }

  bool Pack(const TensorData& tensor) {
    runtime::TiledShape tiled;
    if (!Fits(runtime::MakeTiledShape(*graph_, *param_, tensor.shape.data(),
                                      static_cast<int32_t>(tensor.shape.size()), &tiled))) {
      return false;
    }
    Bytes bytes(tensor.bytes.size());
    auto packing = options_.unpack ? runtime::Packing::Unpack : runtime::Packing::Pack;
    runtime::Status status = runtime::CopyOnHost(tiled, packing, tensor.bytes.data(), bytes.data());
    ETC_CHECK(status.Ok());
    TensorData result{tensor.name, tensor.access, tensor.dtype, tensor.shape, {}};
    if (!options_.unpack) {
      const int64_t tile[] = {param_->tile->rows, param_->tile->columns};
      result.shape = PackedShape(tensor.shape, tile);
    }
    const std::string contents = FileContents(options_.output, result, bytes);
    return options_.output == "-" ? WriteStdout(contents, diagnostics_)
                                  : WriteFiles({{options_.output, contents}}, diagnostics_);
  }

  const PackOptions& options_;
  Diagnostics& diagnostics_;
  const manifest::Graph* graph_ = nullptr;
  const manifest::Param* param_ = nullptr;
};

}  // namespace

ExitCode Execute(const PackOptions& options) {
  Session session(options.diagnostics);
  ReportFailures([&] { (void)PackJob(options, session.diagnostics()).Run(); },
                 session.diagnostics());
  return session.Finish();
}

}  // namespace etc
