#include "tensor/group_execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace etc {
namespace {

/// A row-major tensor, divided along an axis: so many runs of bytes, one from each part in turn.
struct Division {
  Division(const TensorData& whole, size_t axis, int64_t parts)
      : parts(static_cast<size_t>(parts)) {
    auto bytes = static_cast<size_t>(etc_dtype_bytes(whole.dtype));
    for (size_t i = 0; i < whole.shape.size(); ++i) {
      size_t& of = i < axis ? runs : bytes;
      of *= static_cast<size_t>(whole.shape[i]);
    }
    run_bytes = bytes / this->parts;
  }

  /// Copies between the whole tensor and a part, in either direction.
  template <class Copy>
  void ForRuns(size_t part, Copy copy) const {
    for (size_t run = 0; run < runs; ++run) {
      copy((run * parts + part) * run_bytes, run * run_bytes);
    }
  }

  size_t parts;
  size_t runs = 1;
  size_t run_bytes = 0;
};

}  // namespace

Shards::Shards(const Program& program, const GraphView& graph, int32_t ranks) : ranks_(ranks) {
  for (const etc_param_info& param : graph.params) {
    if (param.has_shard == 0) {
      continue;
    }
    Axis& axis = axes_[param.name];
    axis.number = static_cast<size_t>(param.shard);
    for (int32_t rank = 0; rank < ranks; ++rank) {
      auto [part, parts] = program.Part(graph.name.c_str(), param.name, rank, ranks);
      axis.parts = parts;
      axis.part_of.push_back(static_cast<size_t>(part));
    }
  }
}

const Shards::Axis* Shards::AxisOf(const std::string& param) const {
  auto found = axes_.find(param);
  return found == axes_.end() ? nullptr : &found->second;
}

std::vector<int64_t> Shards::WholeShape(const std::string& param,
                                        std::vector<int64_t> shape) const {
  if (const Axis* axis = AxisOf(param)) {
    shape[axis->number] *= axis->parts;
  }
  return shape;
}

TensorData Shards::PartOf(const TensorData& whole, int64_t rank) const {
  const Axis* axis = AxisOf(whole.name);
  TensorData part = whole;
  if (axis != nullptr && axis->number < whole.shape.size() &&
      whole.shape[axis->number] % axis->parts == 0) {
    Division division(whole, axis->number, axis->parts);
    part.shape[axis->number] /= axis->parts;
    part.bytes.resize(division.runs * division.run_bytes);
    const size_t own = axis->part_of[static_cast<size_t>(rank)];
    division.ForRuns(own, [&](size_t from, size_t mine) {
      std::memcpy(part.bytes.data() + mine, whole.bytes.data() + from, division.run_bytes);
    });
  }
  return part;
}

TensorData Shards::Parts(const TensorData& whole) const {
  TensorData all = PartOf(whole, 0);
  for (int64_t rank = 1; rank < ranks_; ++rank) {
    const TensorData part = PartOf(whole, rank);
    all.bytes.insert(all.bytes.end(), part.bytes.begin(), part.bytes.end());
  }
  all.shape.insert(all.shape.begin(), ranks_);
  all.tile = {};
  return all;
}

Bytes Shards::Whole(const TensorData& whole, const Bytes& results) const {
  const size_t bytes_of_rank = results.size() / static_cast<size_t>(ranks_);
  const Axis* axis = AxisOf(whole.name);
  if (axis == nullptr) {
    return {results.begin(), results.begin() + static_cast<std::ptrdiff_t>(bytes_of_rank)};
  }
  Division division(whole, axis->number, axis->parts);
  Bytes bytes(bytes_of_rank * division.parts);
  for (size_t part = 0; part < division.parts; ++part) {
    const size_t first = axis->FirstWith(part) * bytes_of_rank;
    division.ForRuns(part, [&](size_t to, size_t mine) {
      std::memcpy(bytes.data() + to, results.data() + first + mine, division.run_bytes);
    });
  }
  return bytes;
}

std::string Shards::Unequal(const TensorData& whole, const Bytes& results) const {
  const Axis* axis = AxisOf(whole.name);
  const size_t bytes_of_rank = results.size() / static_cast<size_t>(ranks_);
  for (size_t rank = 0; axis != nullptr && rank < axis->part_of.size(); ++rank) {
    const size_t first = axis->FirstWith(axis->part_of[rank]);
    const auto* expected = results.data() + first * bytes_of_rank;
    const auto* found = results.data() + rank * bytes_of_rank;
    const auto* place = std::mismatch(found, found + bytes_of_rank, expected).first;
    if (place != found + bytes_of_rank) {
      return fmt::format(
          "ranks {} and {} have the same part of `%{}`, but element {} of it differs", first, rank,
          whole.name, (place - found) / etc_dtype_bytes(whole.dtype));
    }
  }
  return "";
}

size_t Shards::Axis::FirstWith(size_t part) const {
  return static_cast<size_t>(std::find(part_of.begin(), part_of.end(), part) - part_of.begin());
}

GroupExecution::GroupExecution(const Program& program, const GraphView& graph, int32_t ranks,
                               int32_t sms, const std::vector<int32_t>& devices)
    : group_(devices.empty() ? Group(program, ranks, graph.name.c_str())
                             : Group(program, devices, graph.name.c_str())),
      shards_(program, graph, ranks) {
  for (int32_t rank = 0; rank < ranks; ++rank) {
    std::optional<int32_t> device;
    if (!devices.empty()) {
      device = devices[static_cast<size_t>(rank)];
    }
    members_.push_back(
        {rank, std::make_unique<Execution>(program, graph.name, sms, group_.Rank(rank), device)});
  }
}

GroupExecution::GroupExecution(const Program& program, const GraphView& graph, Group joined,
                               int32_t sms)
    : group_(std::move(joined)), shards_(program, graph, group_.Describe().ranks) {
  const etc_group_info info = group_.Describe();
  const int32_t own = info.own_rank;
  const auto device = info.device < 0 ? std::nullopt : std::optional(info.device);
  members_.push_back(
      {own, std::make_unique<Execution>(program, graph.name, sms, group_.Rank(own), device)});
}

void GroupExecution::SetDim(const std::string& name, int64_t value) {
  for (Member& member : members_) {
    member.execution->SetDim(name, value);
  }
}

std::vector<int64_t> GroupExecution::Shape(const std::string& param, int32_t rank) {
  return shards_.WholeShape(param, instance().Shape(param, rank));
}

void GroupExecution::Bind(const TensorData& tensor) {
  for (Member& member : members_) {
    member.execution->Bind(parts_.emplace_back(shards_.PartOf(tensor, member.rank)));
  }
}

void GroupExecution::PoisonWorkspace(unsigned char byte) {
  for (Member& member : members_) {
    member.execution->PoisonWorkspace(byte);
  }
}

double GroupExecution::Launch() {
  for (Member& member : members_) {
    member.execution->Refill();
  }
  auto start = std::chrono::steady_clock::now();
  group_.Launch();
  group_.Synchronize();
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

Results GroupExecution::Fetch() {
  Results all;
  for (Member& member : members_) {
    for (const auto& [name, bytes] : member.execution->Fetch()) {
      all[name].insert(all[name].end(), bytes.begin(), bytes.end());
    }
  }
  if (static_cast<int64_t>(members_.size()) == shards_.ranks()) {
    return all;
  }
  for (auto& [name, bytes] : all) {
    Bytes parts(bytes.size() * static_cast<size_t>(shards_.ranks()));
    group_.Gather(bytes.data(), static_cast<int64_t>(bytes.size()), parts.data());
    bytes = std::move(parts);
  }
  return all;
}

Bytes GroupExecution::Whole(const TensorData& tensor, const Bytes& results) {
  return shards_.Whole(tensor, results);
}

std::string GroupExecution::Unequal(const TensorData& tensor, const Bytes& results) {
  return shards_.Unequal(tensor, results);
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
