// The values of index tensors that the program computes, as the bodies that store them say.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "analysis/regions.h"

namespace etc {

/// What a device function asks of a computed tensor: the function's parameter, and the tensor.
using AskedOf = std::pair<TensorId, TensorId>;

class ComputedValues {
 public:
  /// It must outlive this.
  explicit ComputedValues(Unknowns& unknowns);

  /// One store: a set over `kStoredValue` and whatever it depends on.
  void Add(TensorId tensor, const Set& values);
  /// The body of the call has been read. Tensors that no later call stores to are known from now
  /// on.
  void End(const ProgramCall& call);
  /// The preconditions of a range that hold of all values that are stored.
  std::set<AskedOf> KeptPreconditions() const;

 private:
  Unknowns& unknowns_;
  std::map<TensorId, size_t> last_writer_;  // its call
  std::map<TensorId, Set> stored_;
};

}  // namespace etc
