#include "report/weights_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

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

template <class Numbers, class Of>
int64_t Product(const Numbers& numbers, Of of) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{1},
                         [&](int64_t all, const auto& number) { return all * of(number); });
}

/// Elements of each tensor that parameters take, which take different ones or the same.
std::map<const CheckpointTensor*, int64_t> TakenOf(const WeightPlan& plan) {
  std::map<const CheckpointTensor*, int64_t> elements;
  std::set<std::pair<const CheckpointTensor*, std::vector<std::pair<int64_t, int64_t>>>> counted;
  for (const ParamWeights& weights : plan.params) {
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (const auto& range : weights.taken) {
      ranges.emplace_back(range.first, range.end);
    }
    for (const CheckpointTensor* tensor : weights.parts) {
      if (counted.emplace(tensor, ranges).second) {
        elements[tensor] +=
            Product(ranges, [](const auto& range) { return range.second - range.first; });
      }
    }
  }
  return elements;
}

std::string TensorsText(const std::vector<std::string>& tensors, std::string_view what) {
  if (tensors.empty()) {
    return "";
  }
  std::string text = fmt::format("  {} {} {}:\n", tensors.size(),
                                 tensors.size() == 1 ? "tensor is" : "tensors are", what);
  for (size_t i = 0; i < std::min(tensors.size(), kMostShown); ++i) {
    text += fmt::format("    {}\n", tensors[i]);
  }
  return text + Rest(tensors.size(), "tensors");
}

std::string UnusedText(const WeightPlan& plan, const runtime::Checkpoint& checkpoint) {
  const auto taken = TakenOf(plan);
  std::vector<std::string> unused, used_in_part;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    const int64_t all = Product(tensor.shape, [](int64_t extent) { return extent; });
    const auto found = taken.find(&tensor);
    if (found == taken.end()) {
      unused.push_back(tensor.name);
    } else if (found->second < all) {
      used_in_part.push_back(fmt::format("{}: {} of {} elements", tensor.name, found->second, all));
    }
  }
  return TensorsText(used_in_part, "used in part") +
         TensorsText(unused, "used by no complete parameter");
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
