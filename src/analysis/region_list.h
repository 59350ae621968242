// The regions of a call, as they are found one access after the other.
#pragma once

#include <string>
#include <vector>

#include "analysis/regions.h"

namespace etc {

/// The element at these indices at each point of the scope.
Set ElementsAt(Unknowns& unknowns, TensorId tensor, const std::vector<PwAff>& indices, Set scope);

class RegionList {
 public:
  /// The regions are over the variables `keep` and the element.
  RegionList(Unknowns& unknowns, std::vector<std::string> keep)
      : unknowns_(unknowns), keep_(std::move(keep)) {}

  struct Access {
    TensorId tensor;
    bool write;
    bool ahead;
    bool exact;  // of the scope
  };
  /// Adds elements, over them and all that they depend on.
  void Add(const Access& access, const Set& touched);
  std::vector<AccessRegion> Take() { return std::move(regions_); }

 private:
  std::vector<std::string> Locals(const Set& set, const std::vector<std::string>& keep) const;

  Unknowns& unknowns_;
  std::vector<std::string> keep_;
  std::vector<AccessRegion> regions_;
};

}  // namespace etc
