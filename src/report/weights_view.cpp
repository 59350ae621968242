#include "report/weights_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "runtime/weights/plan.h"

namespace etc {
namespace {

using runtime::CheckpointTensor;
using runtime::ParamWeights;
using runtime::WeightPlan;
using runtime::WeightProblem;

constexpr size_t kMostShown = 8;  // names of one kind

/// `BF16`, or `F16, F32` where tensors differ.
std::string DTypes(const ParamWeights& weights) {
  std::set<std::string> names;
  for (const CheckpointTensor* tensor : weights.parts) {
    names.insert(tensor->dtype);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Rest(size_t count, std::string_view what) {
  return count <= kMostShown ? "" : fmt::format("    … and {} {} more\n", count - kMostShown, what);
}

std::string ProblemsText(const manifest::Param& param, const WeightPlan& plan) {
  std::string text;
  size_t count = 0;
  for (const WeightProblem& problem : plan.problems) {
    if (problem.param == &param && ++count <= kMostShown) {
      text += fmt::format("    {}\n", problem.text);
    }
  }
  return text + Rest(count, "problems");
}

std::string UnusedText(const WeightPlan& plan, const runtime::Checkpoint& checkpoint) {
  std::set<const CheckpointTensor*> used;
  for (const ParamWeights& weights : plan.params) {
    used.insert(weights.parts.begin(), weights.parts.end());
  }
  std::string text;
  size_t count = 0;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    if (!used.contains(&tensor) && ++count <= kMostShown) {
      text += fmt::format("    {}\n", tensor.name);
    }
  }
  return count == 0
             ? ""
             : fmt::format("  {} {} used by no complete parameter:\n{}{}", count,
                           count == 1 ? "tensor is" : "tensors are", text, Rest(count, "tensors"));
}

}  // namespace

bool OpenCheckpoint(const std::string& path, runtime::Checkpoint& checkpoint,
                    Diagnostics& diagnostics) {
  runtime::Status status = checkpoint.Open(path);
  if (!status.Ok()) {
    diagnostics.Error(DiagnosticKind::Data, {}, status.message);
  }
  return status.Ok();
}

std::string WeightsText(const manifest::Graph& graph, const runtime::Checkpoint& checkpoint,
                        const std::string& prefix, Diagnostics& diagnostics) {
  // All ranks have equal parts, and what fits one number of ranks fits each that divides the sizes.
  runtime::RankOf share{0, graph.mesh ? graph.mesh->values.front() : 1};
  WeightPlan plan = runtime::PlanWeights(graph, checkpoint, prefix, share);
  std::string text = fmt::format(
      "weights of @{} in `{}`{}\n", graph.name, checkpoint.path(),
      share.ranks > 1 ? fmt::format(", for each of {} ranks", share.ranks) : std::string());
  int64_t bytes = 0;
  for (const ParamWeights& weights : plan.params) {
    text += fmt::format(
        "  %{}: {} {} of {}, {} bytes{}\n", weights.param->name, weights.parts.size(),
        weights.parts.size() == 1 ? "tensor" : "tensors", DTypes(weights), weights.Bytes(),
        weights.same_as
            ? fmt::format(", shared with %{}", plan.params[*weights.same_as].param->name)
            : "");
    bytes += weights.same_as ? 0 : weights.Bytes();
  }
  for (const manifest::Param& param : graph.params) {
    if (std::string problems = ProblemsText(param, plan); !problems.empty()) {
      text += fmt::format("  %{} cannot be loaded:\n{}", param.name, problems);
    }
  }
  text += UnusedText(plan, checkpoint) + fmt::format("  {} bytes in all\n", bytes);
  if (!plan.problems.empty()) {
    diagnostics.Error(
        DiagnosticKind::Mismatch, {},
        fmt::format("`{}` does not have the weights of graph @{}", checkpoint.path(), graph.name));
  }
  return text;
}

}  // namespace etc
