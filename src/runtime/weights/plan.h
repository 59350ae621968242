// Which tensors of a checkpoint become which parts of a graph's parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/layout.h"
#include "runtime/manifest.h"
#include "runtime/rank_of.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/convert.h"

namespace etc::runtime {

/// Where the elements of a part of a tensor lie in it: runs of `length` neighbours, the first
/// behind `offset` elements.
struct PartRuns {
  struct Loop {
    int64_t count = 0;
    int64_t stride = 0;  // elements from one to the next

    bool operator==(const Loop&) const = default;
  };
  int64_t length = 0;
  int64_t offset = 0;
  std::vector<Loop> loops;  // over the runs, the innermost first

  bool operator==(const PartRuns&) const = default;
};

/// A parameter that the program names tensors for.
struct ParamWeights {
  const manifest::Param* param = nullptr;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  std::optional<TiledShape> tiled;  // of the whole parameter
  /// One tensor for each index of the leading axes that the names have, in their order.
  std::vector<const CheckpointTensor*> parts;
  /// Of each tensor; absent where all of it is taken.
  std::optional<PartRuns> runs;
  /// What all ranks together take of each axis of a tensor.
  std::vector<manifest::Source::Range> taken;
  /// An earlier parameter of the plan with the same tensors in the same layout.
  std::optional<size_t> same_as;

  int64_t Bytes() const;
};

/// Why a parameter cannot be had: "tensor `a.3` is missing", "tensor `a.3` has the shape [2, 3] …".
struct WeightProblem {
  const manifest::Param* param = nullptr;
  std::string text;
};

struct WeightPlan {
  std::vector<ParamWeights> params;
  std::vector<WeightProblem> problems;  // all of them
};

/// Holds all parameters of `graph` that name tensors against `checkpoint`. A tensor has the extents
/// of the parameter's axes behind those that its name indexes, or those that the ranges say it has,
/// and a dtype that can be converted. Where the graph has a mesh, it has those of all ranks
/// together, and `share` says whose part of it is meant. `prefix` stands before each name in the
/// checkpoint.
WeightPlan PlanWeights(const manifest::Graph& graph, const Checkpoint& checkpoint,
                       const std::string& prefix, RankOf share = {});

/// The name with its places, `{l}`, filled from `indices`; equal places have equal indices.
std::string FillName(const std::string& source, const std::vector<int64_t>& indices);
/// Different places of a name, in the order of the axes that they stand for.
std::vector<std::string> PlacesOf(const std::string& source);

}  // namespace etc::runtime
