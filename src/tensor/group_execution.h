// Launches one graph of a program with a mesh on all ranks of a group.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensor/execution.h"
#include "tensor/program_view.h"

namespace etc {

/// The tensors are those of all ranks together: what is sharded is divided among the ranks, and
/// each has a copy of the rest.
class GroupExecution : public Launcher {
 public:
  /// `sms` of each rank; 0 for all. On GPUs, `devices` has that of each rank. The program must
  /// outlive the execution.
  GroupExecution(const Program& program, const GraphView& graph, int32_t ranks, int32_t sms,
                 const std::vector<int32_t>& devices);

  Instance& instance() override { return ranks_.front()->instance(); }
  void SetDim(const std::string& name, int64_t value) override;
  std::vector<int64_t> Shape(const std::string& param, int32_t rank) override;
  void Bind(const TensorData& tensor) override;
  void PoisonWorkspace(unsigned char byte) override;
  double Launch() override;
  Results Fetch() override;
  Bytes Whole(const TensorData& tensor, const Bytes& results) override;

  /// The parts of all ranks, one behind the other: what a tensor with one more axis in front, for
  /// the ranks, holds.
  TensorData Parts(const TensorData& tensor) const;

 private:
  std::optional<size_t> ShardOf(const std::string& param) const;
  TensorData PartOf(const TensorData& tensor, int64_t rank) const;

  Group group_;
  std::vector<std::unique_ptr<Execution>> ranks_;
  std::map<std::string, size_t> shards_;  // the axis, by parameter
  std::deque<TensorData> parts_;          // that are bound
};

/// How many ranks a graph with a mesh is to run on: what the dims say, or the only number that it
/// is for. Reports [command-line] errors.
[[nodiscard]] std::optional<int32_t> RanksOf(const GraphView& graph,
                                             const std::map<std::string, int64_t>& dims,
                                             Diagnostics& diagnostics);

}  // namespace etc
