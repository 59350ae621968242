// What proofs ask of the buffers of a program: where they lie, and when they are written anew.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "analysis/regions.h"

namespace etc {

/// Where buffers share memory. Remembers what was found of each two, as each two uses ask for it.
class Overlaps {
 public:
  /// It must outlive this.
  explicit Overlaps(Unknowns& unknowns) : unknowns_(unknowns) {}

  /// The sizes at which two buffers have bytes of the workspace in common: nothing where there are
  /// none, and where one of the tensors has no place in a workspace.
  const std::optional<Set>& Of(TensorId a, TensorId b);

 private:
  /// The bytes of a buffer: where they begin and end.
  struct Place {
    PwAff begin;
    PwAff end;
  };
  const Place& PlaceOf(TensorId tensor);
  std::optional<Set> Find(TensorId a, TensorId b);

  Unknowns& unknowns_;
  std::map<TensorId, Place> places_;
  std::map<std::pair<TensorId, TensorId>, std::optional<Set>> overlaps_;
};

/// Remembers what was found of each call and tensor.
class Renewal {
 public:
  /// Both must outlive it.
  Renewal(Unknowns& unknowns, const ProgramAccesses& accesses)
      : unknowns_(unknowns), accesses_(accesses.first) {}

  /// Whether the call writes, in each iteration, all elements that any call touches.
  bool Renews(const ProgramCall& call, TensorId tensor);
  /// Whether it does so and reads nothing of the tensor that it has not written itself.
  bool StartsAfresh(const ProgramCall& call, TensorId tensor);

 private:
  const Map& Touched(TensorId tensor);

  Unknowns& unknowns_;
  const std::vector<std::vector<AccessRegion>>& accesses_;
  std::map<TensorId, Map> touched_;
  std::map<std::pair<size_t, TensorId>, bool> renews_;
};

}  // namespace etc
