// Bounds of a value that are affine functions.
#pragma once

#include <vector>

#include "analysis/sets/unknowns.h"

namespace etc {

/// From the largest of `lo` to the smallest of `last`.
struct AffineBounds {
  std::vector<PwAff> lo;
  std::vector<PwAff> last;

  PwAff Low() const;
  PwAff Last() const;
  /// Adds the bounds that hold for all values of a set of one dimension.
  void Add(const Set& values);
  /// Removes each bound that another one implies.
  void Thin(const Set& where);
};

}  // namespace etc
