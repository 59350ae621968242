#include "report/weights_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
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

/// What parameters take of a tensor: a range of each of its axes.
using TakenBox = std::vector<manifest::Source::Range>;

/// Elements that are in any of the boxes, counted from an axis on.
int64_t ElementsOf(const std::vector<const TakenBox*>& boxes, size_t axis) {
  if (boxes.empty() || axis == boxes.front()->size()) {
    return boxes.empty() ? 0 : 1;
  }
  std::set<int64_t> borders;
  for (const TakenBox* box : boxes) {
    borders.insert({(*box)[axis].first, (*box)[axis].end});
  }
  int64_t elements = 0;
  for (auto begin = borders.begin(); std::next(begin) != borders.end(); ++begin) {
    std::vector<const TakenBox*> here;
    std::copy_if(boxes.begin(), boxes.end(), std::back_inserter(here), [&](const TakenBox* box) {
      return (*box)[axis].first <= *begin && *begin < (*box)[axis].end;
    });
    elements += (*std::next(begin) - *begin) * ElementsOf(here, axis + 1);
  }
  return elements;
}

/// The boxes of each tensor that a complete parameter of any rank takes.
std::map<const CheckpointTensor*, std::vector<const TakenBox*>> TakenOf(
    const std::vector<WeightPlan>& plans) {
  std::map<const CheckpointTensor*, std::vector<const TakenBox*>> taken;
  for (const WeightPlan& plan : plans) {
    for (const ParamWeights& weights : plan.params) {
      for (const CheckpointTensor* tensor : weights.parts) {
        taken[tensor].push_back(&weights.taken);
      }
    }
  }
  return taken;
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

std::string UnusedText(const std::vector<WeightPlan>& plans,
                       const runtime::Checkpoint& checkpoint) {
  const auto taken = TakenOf(plans);
  std::vector<std::string> unused, used_in_part;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    const auto found = taken.find(&tensor);
    if (found == taken.end()) {
      unused.push_back(tensor.name);
      continue;
    }
    const int64_t used = ElementsOf(found->second, 0);
    const int64_t all =
        std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>());
    if (used < all) {
      used_in_part.push_back(fmt::format("{}: {} of {} elements", tensor.name, used, all));
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
  // What fits one number of ranks fits each that divides the sizes.
  const int64_t ranks = graph.mesh ? graph.mesh->values.front() : 1;
  std::vector<WeightPlan> plans;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    plans.push_back(runtime::PlanWeights(graph, checkpoint, prefix, {rank, ranks}));
  }
  std::string text =
      fmt::format("weights of @{} in `{}`{}\n", graph.name, checkpoint.path(),
                  ranks > 1 ? fmt::format(", for each of {} ranks", ranks) : std::string());
  int64_t bytes = 0;
  const WeightPlan& plan = plans.front();  // all ranks have equal parts
  for (const ParamWeights& weights : plan.params) {
    text += fmt::format(
        "  %{}: {} {} of {}, {} bytes{}\n", weights.param->name, weights.parts.size(),
        weights.parts.size() == 1 ? "tensor" : "tensors", DTypes(weights), weights.Bytes(),
        weights.same_as
            ? fmt::format(", shared with %{}", plan.params[*weights.same_as].param->name)
            : "");
    bytes += weights.same_as ? 0 : weights.Bytes();
  }
  for (int64_t rank = 0; rank < ranks; ++rank) {
    for (const manifest::Param& param : graph.params) {
      const std::string problems = ProblemsText(param, plans[static_cast<size_t>(rank)]);
      if (!problems.empty()) {
        text += fmt::format("  %{} cannot be loaded{}:\n{}", param.name,
                            ranks > 1 ? fmt::format(" by rank {}", rank) : "", problems);
      }
    }
  }
  text += UnusedText(plans, checkpoint) + fmt::format("  {} bytes in all\n", bytes);
  if (std::any_of(plans.begin(), plans.end(),
                  [](const WeightPlan& each) { return !each.problems.empty(); })) {
    diagnostics.Error(
        DiagnosticKind::Mismatch, {},
        fmt::format("`{}` does not have the weights of graph @{}", checkpoint.path(), graph.name));
  }
  return text;
}

}  // namespace etc
