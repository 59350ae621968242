// AffineBounds of a value by affine functions.
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
  /// Adds what bounds the values in all of a set of one dimension.
  void Add(const Set& values);
  /// Takes out what another bound is always at least as strict as.
  void Thin(const Set& where);
};

}  // namespace etc
