// Launches one graph of a program with a mesh on all ranks of a group, or on the one of this
// process.
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

/// How the tensors of a graph are divided among its ranks: what is sharded in parts along an axis,
/// of which ranks that follow each other may have the same one, and each rank has a copy of the
/// rest.
class Shards {
 public:
  /// The graph is one of the program's.
  Shards(const Program& program, const GraphView& graph, int32_t ranks);

  int64_t ranks() const { return ranks_; }
  /// Of all parts together, by that of one.
  std::vector<int64_t> WholeShape(const std::string& param, std::vector<int64_t> shape) const;
  TensorData PartOf(const TensorData& whole, int64_t rank) const;
  /// What all ranks have, one behind the other: what a tensor with one more axis in front, for the
  /// ranks, holds.
  TensorData Parts(const TensorData& whole) const;
  /// The whole tensor, of what all ranks have, one behind the other. Of those that share a part,
  /// the first one counts.
  Bytes Whole(const TensorData& whole, const Bytes& results) const;
  /// Says of such results in which element ranks that share a part differ; else empty.
  std::string Unequal(const TensorData& whole, const Bytes& results) const;

 private:
  struct Axis {
    size_t number = 0;
    int64_t parts = 1;
    std::vector<size_t> part_of;  // a rank

    size_t FirstWith(size_t part) const;  // of the ranks
  };

  /// Null where each rank has all of it.
  const Axis* AxisOf(const std::string& param) const;

  int64_t ranks_;
  std::map<std::string, Axis> axes_;  // by parameter
};

/// The tensors are those of all ranks together. With a process for each rank, all processes make
/// the same calls.
class GroupExecution : public Launcher {
 public:
  /// `sms` of each rank; 0 for all. On GPUs, `devices` has that of each rank. The program must
  /// outlive the execution.
  GroupExecution(const Program& program, const GraphView& graph, int32_t ranks, int32_t sms,
                 const std::vector<int32_t>& devices);
  /// Of a rank that has joined the others.
  GroupExecution(const Program& program, const GraphView& graph, Group joined, int32_t sms);

  Instance& instance() override { return members_.front().execution->instance(); }
  void SetDim(const std::string& name, int64_t value) override;
  std::vector<int64_t> Shape(const std::string& param, int32_t rank) override;
  void Bind(const TensorData& tensor) override;
  void PoisonWorkspace(unsigned char byte) override;
  double Launch() override;
  Results Fetch() override;
  Bytes Whole(const TensorData& tensor, const Bytes& results) override;
  std::string Unequal(const TensorData& tensor, const Bytes& results) override;

 private:
  /// A rank of this process.
  struct Member {
    int64_t rank;
    std::unique_ptr<Execution> execution;
  };

  Group group_;
  Shards shards_;
  std::vector<Member> members_;
  std::deque<TensorData> parts_;  // that are bound
};

/// How many ranks a graph with a mesh is to run on: what the dims say, or the only number that it
/// is for. Reports [command-line] errors.
[[nodiscard]] std::optional<int32_t> RanksOf(const GraphView& graph,
                                             const std::map<std::string, int64_t>& dims,
                                             Diagnostics& diagnostics);

}  // namespace etc
