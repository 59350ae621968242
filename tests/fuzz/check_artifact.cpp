#include "check_artifact.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "etc/runtime.h"
#include "runtime/container.h"
#include "runtime/launches.h"
#include "runtime/manifest_expr.h"
#include "runtime/manifest_reader.h"
#include "runtime/manifest_seal.h"
#include "runtime/requirements.h"

namespace etc {
namespace {

using runtime::Status;

/// A refusal has a status and says something, in a line of readable length.
std::string CheckRefusal(const Status& status) {
  if (status.code != ETC_ERROR_MANIFEST && status.code != ETC_ERROR_BINARY) {
    return "the status " + std::to_string(status.code);
  }
  return status.message.empty() || status.message.size() > 8192 ? "the message " + status.message
                                                                : "";
}

/// Evaluates all that a launch would, at the least sizes.
void Plan(const manifest::Graph& graph) {
  std::vector<int64_t> dims;
  for (const manifest::Dim& dim : graph.dims) {
    dims.push_back(dim.min);
  }
  int64_t value = 0;
  (void)runtime::CheckRequirements(graph, graph.requirements, dims);
  for (const manifest::Param& param : graph.params) {
    for (const manifest::Expr& extent : param.shape) {
      (void)runtime::Evaluate(extent, dims, &value);
      (void)runtime::ToText(extent, graph.dims);
    }
  }
  for (const manifest::Kernel& kernel : graph.kernels) {
    runtime::LaunchSteps steps;
    (void)runtime::CheckRequirements(graph, kernel.requirements, dims);
    (void)runtime::Evaluate(kernel.workspace_bytes, dims, &value);
    (void)runtime::Evaluate(kernel.event_counters, dims, &value);
    (void)runtime::ListLaunches(kernel, dims, &steps);
  }
}

std::string CheckRead(const std::string& text) {
  manifest::Manifest manifest;
  if (Status status = runtime::ReadManifest(text, &manifest); !status.Ok()) {
    return CheckRefusal(status);
  }
  if (manifest.graphs.empty() || manifest.hash.size() != 32) {
    return "a manifest without a graph or a hash";
  }
  std::for_each(manifest.graphs.begin(), manifest.graphs.end(), Plan);
  return "";
}

/// The members of the object with a hash that fits; nothing where the text ends in no object.
std::optional<std::string> WithFittingSeal(std::string text) {
  if (const size_t old = text.rfind(",\n  \"xxh3_128\""); old != std::string::npos) {
    text = text.substr(0, old) + "\n}";
  }
  if (text.find_last_of('}') == std::string::npos) {
    return std::nullopt;
  }
  return runtime::SealManifest(std::move(text));
}

}  // namespace

std::string CheckManifestText(const std::string& text) {
  if (std::string problem = CheckRead(text); !problem.empty()) {
    return problem;
  }
  const std::optional<std::string> sealed = WithFittingSeal(text);
  if (!sealed) {
    return "";
  }
  if (std::string problem = CheckRead(*sealed); !problem.empty()) {
    return problem;
  }
  return CheckContainer(runtime::WriteContainer(*sealed, "binary"));
}

std::string CheckContainer(const std::string& bytes) {
  etc_program* program = nullptr;
  const etc_status status = etc_program_load_memory(bytes.data(), bytes.size(), &program);
  etc_program_free(program);
  if (status == ETC_OK) {
    return program == nullptr ? "a program that is null" : "";
  }
  return program == nullptr ? CheckRefusal({status, etc_last_error()}) : "a program and an error";
}

}  // namespace etc
