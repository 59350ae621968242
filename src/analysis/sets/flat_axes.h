// Flat axes hold several others: a tensor `%a: f32[m * n]` is a matrix that is read at `i * n + j`.
// The product is not affine where `n` is a size, so a set over `i * n + j` would tell no rows from
// columns. The sets have such an element at (i, j) instead.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/sets/isl.h"
#include "ir/ids.h"

namespace etc {

class Unknowns;

/// How sets see the elements of a tensor that has such axes.
struct FlatAxes {
  /// For each axis of the tensor the sizes of the axes in it, the innermost first and without the
  /// outermost.
  std::vector<std::vector<PwAff>> sizes;
  std::vector<PwAff> extents;  // of all axes that sets have
};

/// Of each tensor of the program that has some, and that bodies read so.
std::map<TensorId, FlatAxes> FindFlatAxes(Unknowns& unknowns);

/// The names of the indices of the tensor's elements in sets, and their extents.
std::vector<std::string> ElementNamesOf(const Unknowns& unknowns, TensorId tensor);
std::vector<PwAff> ElementExtents(Unknowns& unknowns, TensorId tensor);

/// The element at these indices as sets have it, where `scope` holds.
std::vector<PwAff> ElementAt(Unknowns& unknowns, TensorId tensor, const std::vector<PwAff>& indices,
                             const Set& scope);

}  // namespace etc
