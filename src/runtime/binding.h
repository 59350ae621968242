// Bound tensors: what is checked of one alone, and of all of them together.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

struct Binding {
  bool is_bound = false;
  void* data = nullptr;
  std::vector<int64_t> shape;  // of the parameter, also where the tensor is packed
  int64_t elements = 0;
};

struct MemorySpan {
  const void* data = nullptr;
  int64_t bytes = 0;
};

/// Values of the graph's dims, where known.
using KnownDims = std::vector<std::optional<int64_t>>;

/// The tensors that a launch of a graph binds: its parameters, and in the place of an array its
/// tensors one by one, `k_cache[0]`, `k_cache[1]`, … They have the graph's dims and no kernels.
struct Places {
  manifest::Graph graph;
  std::vector<size_t> first;  // of each parameter of the graph, its own or its first place

  explicit Places(const manifest::Graph& whole);
  /// How many tensors a parameter has.
  size_t CountOf(size_t param) const;
};

/// Pairs of places, the lower one first.
using PlacePairs = std::set<std::pair<size_t, size_t>>;

/// The text of a failure completes "dim `batch` ...".
Status CheckDim(const manifest::Dim& dim, int64_t value);

/// The shape [..., n, k] of a tensor for the parameter. A packed one has [..., n / A, k / B, A, B],
/// so that a row-major one cannot be taken for it.
Status ShapeOf(const manifest::Param& param, const etc_tensor& tensor, std::vector<int64_t>* shape);

/// Holds a tensor against its parameter: dtype, rank, density, alignment, null, the extents whose
/// value is known, and the range of the dims that extents name.
Status CheckTensor(const manifest::Graph& graph, const manifest::Param& param,
                   const KnownDims& known, const etc_tensor& tensor, Binding* binding);

/// The tensors of an array, where they are stacked in one: at any distance from each other. Their
/// shapes and strides are those of the one, which may be dense.
Status TensorsOf(const manifest::Param& param, const etc_tensor& stacked,
                 std::vector<etc_tensor>* tensors, bool* is_dense);

/// The dims of a launch: those set, and for the others the extent of the first tensor that has one.
KnownDims InferDims(const manifest::Graph& graph, const std::vector<Binding>& bindings,
                    const KnownDims& set);

/// Completes "dim `n` is not set, and ...": the parameters that have it as an extent, of which none
/// is bound.
std::string SourcesOf(const manifest::Graph& graph, size_t dim);

/// Everything that only all dims and tensors together can show: each is bound, every extent has the
/// value of its expression, no tensor that is written overlaps another but those that may, and none
/// overlaps the caller's workspace.
Status CheckTogether(const manifest::Graph& graph, const std::vector<Binding>& bindings,
                     const KnownDims& set, const std::vector<int64_t>& dims,
                     const PlacePairs& may_overlap, const MemorySpan& workspace);

}  // namespace etc::runtime
