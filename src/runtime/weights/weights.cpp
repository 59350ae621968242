#include "runtime/weights/weights.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "runtime/device_memory.h"
#include "runtime/group.h"
#include "runtime/log.h"

namespace etc::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kAlignment = 256;

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

Status CheckPlan(const manifest::Graph& graph, const Checkpoint& checkpoint,
                 const WeightPlan& plan) {
  if (!plan.problems.empty()) {
    const WeightProblem& first = plan.problems.front();
    const size_t others = plan.problems.size() - 1;
    return Fail(
        ETC_ERROR_CHECKPOINT, "checkpoint `", checkpoint.path(), "`, parameter `",
        first.param->name, "`: ", first.text,
        others == 0 ? "" : Cat(" (and ", others, others == 1 ? " problem" : " problems", " more)"));
  }
  if (plan.params.empty()) {
    return Fail(ETC_ERROR_CHECKPOINT, "no parameter of graph `", graph.name,
                "` names a tensor of a checkpoint (`from`)");
  }
  return {};
}

Status CheckShare(const manifest::Graph& graph, std::optional<RankOf> share) {
  if (!graph.mesh) {
    return share ? Fail(ETC_ERROR_ARGUMENT, "graph `", graph.name,
                        "` has no mesh, so no rank has a part of its weights")
                 : Status{};
  }
  if (!share) {
    return Fail(ETC_ERROR_ARGUMENT, "graph `", graph.name,
                "` has a mesh, so say whose weights are meant: `rank` and `ranks` of the options");
  }
  ETC_RETURN_IF_BAD(CheckRanks(graph, static_cast<int32_t>(share->ranks)));
  if (share->rank < 0 || share->rank >= share->ranks) {
    return Fail(ETC_ERROR_ARGUMENT, "there is no rank ", share->rank, ": there are ", share->ranks,
                ", counted from 0");
  }
  return {};
}

std::string Whose(const std::optional<RankOf>& share) {
  return share ? Cat("rank ", share->rank, " of ", share->ranks) : "a graph without a mesh";
}

/// A packed tensor is bound with the shape of its tiles.
std::vector<int64_t> BoundShape(const ParamWeights& weights) {
  std::vector<int64_t> shape = weights.shape;
  if (weights.tiled) {
    const manifest::Tile& tile = *weights.param->tile;
    shape[shape.size() - 2] /= tile.rows;
    shape[shape.size() - 1] /= tile.columns;
    shape.insert(shape.end(), {tile.rows, tile.columns});
  }
  return shape;
}

}  // namespace

Status Weights::Load(std::shared_ptr<const Program> program, const char* graph,
                     const Checkpoint& checkpoint, const LoadOptions& options,
                     std::unique_ptr<Weights>* weights) {
  const manifest::Graph* found = nullptr;
  ETC_RETURN_IF_BAD(program->FindGraph(graph, &found));
  ETC_RETURN_IF_BAD(CheckShare(*found, options.share));
  const WeightPlan plan =
      PlanWeights(*found, checkpoint, options.prefix, options.share.value_or(RankOf{}));
  ETC_RETURN_IF_BAD(CheckPlan(*found, checkpoint, plan));
  const bool is_host = program->IsHost();
  std::unique_ptr<Weights> made(new Weights(std::move(program), options.share));
  std::vector<void*> memory(plan.params.size());
  const Clock::time_point begin = Clock::now();
  ETC_RETURN_IF_BAD(made->Allocate(plan, &memory));
  const Clock::time_point allocated = Clock::now();
  ETC_RETURN_IF_BAD((is_host ? UploadToHost : UploadToDevice)(plan, memory, options.upload));
  LogInfo("loaded ", made->Bytes(), " bytes of weights from `", checkpoint.path(),
          "`: memory took ", Seconds(allocated - begin), " s, reading and packing ",
          Seconds(Clock::now() - allocated), " s");
  for (size_t i = 0; i < plan.params.size(); ++i) {
    made->loaded_.push_back({plan.params[i].param, BoundShape(plan.params[i]), memory[i]});
  }
  *weights = std::move(made);
  return {};
}

Weights::~Weights() {
  for (void* data : allocations_) {
    if (program_->IsHost()) {
      std::free(data);
    } else {
      (void)FreeDeviceMemory(data);
    }
  }
}

Status Weights::Allocate(const WeightPlan& plan, std::vector<void*>* memory) {
  allocations_.reserve(plan.params.size());
  for (size_t i = 0; i < plan.params.size(); ++i) {
    if (plan.params[i].same_as) {
      (*memory)[i] = (*memory)[*plan.params[i].same_as];
      continue;
    }
    const int64_t bytes = std::max<int64_t>(plan.params[i].Bytes(), 1);  // no pointer for nothing
    void*& data = (*memory)[i];
    if (program_->IsHost()) {
      const size_t padded = (static_cast<size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
      data = std::aligned_alloc(kAlignment, padded);
      if (data == nullptr) {
        return Fail(ETC_ERROR_OUT_OF_MEMORY, "cannot allocate ", bytes, " bytes for parameter `",
                    plan.params[i].param->name, "`");
      }
    } else if (Status status = AllocateDeviceMemory(bytes, &data); !status.Ok()) {
      return Fail(status.code, "parameter `", plan.params[i].param->name, "`: ", status.message);
    }
    allocations_.push_back(data);
    bytes_ += plan.params[i].Bytes();
  }
  return {};
}

Status Weights::BindTo(Instance* instance) const {
  if (&instance->program() != program_.get()) {
    return Fail(ETC_ERROR_ARGUMENT, "the weights were loaded for another program");
  }
  if (instance->rank() != share_) {
    return Fail(ETC_ERROR_ARGUMENT, "the weights are those of ", Whose(share_),
                ", but the instance is ", instance->rank() ? "" : "of ", Whose(instance->rank()));
  }
  std::vector<NamedTensor> tensors;
  for (const Loaded& loaded : loaded_) {
    const std::vector<manifest::Param>& params = instance->graph().params;
    const auto same = [&](const manifest::Param& param) {
      return param.name == loaded.param->name;
    };
    const auto param = std::find_if(params.begin(), params.end(), same);
    if (param == params.end()) {
      continue;
    }
    if (param->tile != loaded.param->tile) {
      return Fail(ETC_ERROR_BIND, "parameter `", param->name, "`: the weights were loaded for a ",
                  "graph in which it has another layout");
    }
    etc_tensor tensor{};
    tensor.data = loaded.data;
    tensor.dtype = loaded.param->dtype;
    tensor.rank = static_cast<int32_t>(loaded.shape.size());
    tensor.shape = loaded.shape.data();
    tensors.push_back({param->name.c_str(), tensor});
  }
  return instance->BindAll(tensors);
}

}  // namespace etc::runtime
