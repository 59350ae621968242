#include "tensor/group_execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace etc {
namespace {

/// A row-major tensor, divided along an axis: so many runs of bytes, one from each part in turn.
struct Division {
  Division(const TensorData& whole, size_t axis, int64_t ranks)
      : ranks(static_cast<size_t>(ranks)) {
    auto bytes = static_cast<size_t>(etc_dtype_bytes(whole.dtype));
    for (size_t i = 0; i < whole.shape.size(); ++i) {
      size_t& of = i < axis ? runs : bytes;
      of *= static_cast<size_t>(whole.shape[i]);
    }
    run_bytes = bytes / this->ranks;
  }

  /// Copies between the whole tensor and the part of a rank, in either direction.
  template <class Copy>
  void ForRuns(size_t rank, Copy copy) const {
    for (size_t run = 0; run < runs; ++run) {
      copy((run * ranks + rank) * run_bytes, run * run_bytes);
    }
  }

  size_t ranks;
  size_t runs = 1;
  size_t run_bytes = 0;
};

}  // namespace

GroupExecution::GroupExecution(const Program& program, const GraphView& graph, int32_t ranks,
                               int32_t sms, const std::vector<int32_t>& devices)
    : group_(devices.empty() ? Group(program, ranks, graph.name.c_str())
                             : Group(program, devices, graph.name.c_str())) {
  for (int32_t rank = 0; rank < ranks; ++rank) {
    std::optional<int32_t> device;
    if (!devices.empty()) {
      device = devices[static_cast<size_t>(rank)];
    }
    ranks_.push_back(
        std::make_unique<Execution>(program, graph.name, sms, group_.Rank(rank), device));
  }
  for (const etc_param_info& param : graph.params) {
    if (param.has_shard != 0) {
      shards_[param.name] = static_cast<size_t>(param.shard);
    }
  }
}

std::optional<size_t> GroupExecution::ShardOf(const std::string& param) const {
  auto found = shards_.find(param);
  return found == shards_.end() ? std::nullopt : std::optional(found->second);
}

void GroupExecution::SetDim(const std::string& name, int64_t value) {
  for (auto& rank : ranks_) {
    rank->SetDim(name, value);
  }
}

std::vector<int64_t> GroupExecution::Shape(const std::string& param, int32_t rank) {
  std::vector<int64_t> shape = instance().Shape(param, rank);
  if (auto axis = ShardOf(param)) {
    shape[*axis] *= static_cast<int64_t>(ranks_.size());
  }
  return shape;
}

TensorData GroupExecution::PartOf(const TensorData& tensor, int64_t rank) const {
  auto axis = ShardOf(tensor.name);
  TensorData part = tensor;
  auto ranks = static_cast<int64_t>(ranks_.size());
  if (axis && *axis < tensor.shape.size() && tensor.shape[*axis] % ranks == 0) {
    Division division(tensor, *axis, ranks);
    part.shape[*axis] /= ranks;
    part.bytes.resize(division.runs * division.run_bytes);
    division.ForRuns(static_cast<size_t>(rank), [&](size_t whole, size_t mine) {
      std::memcpy(part.bytes.data() + mine, tensor.bytes.data() + whole, division.run_bytes);
    });
  }
  return part;
}

TensorData GroupExecution::Parts(const TensorData& tensor) const {
  TensorData all = PartOf(tensor, 0);
  for (size_t rank = 1; rank < ranks_.size(); ++rank) {
    const TensorData part = PartOf(tensor, static_cast<int64_t>(rank));
    all.bytes.insert(all.bytes.end(), part.bytes.begin(), part.bytes.end());
  }
  all.shape.insert(all.shape.begin(), static_cast<int64_t>(ranks_.size()));
  all.tile = {};
  return all;
}

void GroupExecution::Bind(const TensorData& tensor) {
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank]->Bind(parts_.emplace_back(PartOf(tensor, static_cast<int64_t>(rank))));
  }
}

void GroupExecution::PoisonWorkspace(unsigned char byte) {
  for (auto& rank : ranks_) {
    rank->PoisonWorkspace(byte);
  }
}

double GroupExecution::Launch() {
  for (auto& rank : ranks_) {
    rank->Refill();
  }
  auto start = std::chrono::steady_clock::now();
  group_.Launch();
  group_.Synchronize();
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

Results GroupExecution::Fetch() {
  Results all;
  for (auto& rank : ranks_) {
    for (const auto& [name, bytes] : rank->Fetch()) {
      all[name].insert(all[name].end(), bytes.begin(), bytes.end());
    }
  }
  return all;
}

Bytes GroupExecution::Whole(const TensorData& tensor, const Bytes& results) {
  size_t part = results.size() / ranks_.size();
  auto axis = ShardOf(tensor.name);
  Bytes whole(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(part));
  if (axis) {
    Division division(tensor, *axis, static_cast<int64_t>(ranks_.size()));
    whole.resize(results.size());
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      division.ForRuns(rank, [&](size_t to, size_t mine) {
        std::memcpy(whole.data() + to, results.data() + rank * part + mine, division.run_bytes);
      });
    }
  }
  return whole;
}

std::optional<int32_t> RanksOf(const GraphView& graph, const std::map<std::string, int64_t>& dims,
                               Diagnostics& diagnostics) {
  auto same = [&](const etc_dim_info& dim) { return std::string_view(dim.name) == graph.mesh; };
  const etc_dim_info& size = *std::find_if(graph.dims.begin(), graph.dims.end(), same);
  if (auto given = dims.find(graph.mesh); given != dims.end()) {
    return static_cast<int32_t>(std::clamp<int64_t>(given->second, 0, INT32_MAX));
  }
  if (size.min == size.max) {
    return static_cast<int32_t>(size.min);
  }
  diagnostics.Error(DiagnosticKind::CommandLine, {},
                    fmt::format("on how many ranks? `--dim {}=N`", graph.mesh));
  return std::nullopt;
}

}  // namespace etc
