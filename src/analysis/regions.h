// What the tasks of a call read and write, from the body of its device function.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "analysis/sets/body_loops.h"
#include "analysis/sets/body_writes.h"
#include "analysis/sets/task_scope.h"

namespace etc {

/// Elements of a tensor of the program that tasks may read or write: a set over the task and the
/// element. Not exact: it holds more than is accessed, and terms that depend on the task alone.
struct AccessRegion {
  TensorId tensor;
  bool write = false;
  bool ahead = false;  // read by a loader ahead of every wait: verified to meet no write at all
  bool exact = true;
  bool possible = true;           // the caller may choose the data so that any of it is accessed
  bool of_any_iteration = false;  // by the choice of an element that is not named in the set
  Set set;
};

/// A value that must be in a range, for the proof that it is: an index of an access in its extent,
/// the value of a scalar parameter in what is declared, the rank of the last element that a `topk`
/// takes in the number of those that there are, or the places of a shift in 0 .. 64. A divisor is
/// such a value too: it must not be 0.
struct IndexUse {
  enum class Kind { Element, Scalar, TopK, Divisor, Places };
  Kind kind;
  TensorId tensor;  // Element: as the body names it
  size_t axis;      // Element; Scalar: number of the parameter
  ExprId index;
  bool inside;  // its variables' ranges show that: then nothing of what follows is given
  PwAff value = {};
  PwAff least = {};
  PwAff extent = {};           // one above the largest
  const Set* scope = nullptr;  // where the access happens
  bool exact = false;          // of `scope`
  ExprId operation = {};       // Divisor, Places: what has the value as its operand
  bool at_least = false;       // its variables' ranges show that it is no less than the least
};

/// Whether the tensor holds nothing when a launch starts.
inline bool StartsEmpty(const Tensor& tensor) {
  return tensor.kind == TensorKind::Buffer || tensor.access == Access::Out;
}

/// What the tasks of a call access.
struct CallRegions {
  std::vector<AccessRegion> all;
  /// What a task reads of tensors that start empty, and has not written itself before; for a
  /// reader.
  std::vector<AccessRegion> unwritten;
};

/// What a proof looks at while the body of task 1 is read.
struct BodyReader {
  std::function<void(const ProgramCall&, const IndexUse&)> on_index;  // each index of an access
  /// Each loop with independent iterations; the converter binds what its accesses are made of.
  std::function<void(const ProgramCall&, const BodyLoops&, Converter&)> on_loop;
  /// The integers that are stored to a tensor of the program, over `kStoredValue`.
  std::function<void(TensorId, const Set&)> on_store;
  /// Each read of a local or an `out` parameter, and what the task has written of it before.
  std::function<void(const ProgramCall&, const BodyRead&)> on_own_read;
  /// Begins a body. It is not read where what it accesses is known, and then nothing but its end is
  /// told.
  std::function<std::optional<CallRegions>(const ProgramCall&)> on_body;
  std::function<void(const ProgramCall&, const CallRegions&)> on_end;  // of a call
};

/// What the tasks of one call access of some tensors. Without a reader, nothing else in the body is
/// looked at.
CallRegions RegionsOf(Unknowns& unknowns, const ProgramCall& call,
                      const std::set<TensorId>& tensors, const BodyReader* reader = nullptr);

/// The regions of task 1 of the call, as those of task 2.
std::vector<AccessRegion> Twins(Unknowns& unknowns, const ProgramCall& call,
                                std::vector<AccessRegion> regions);

/// What the tasks of each call access of the tensors that any call writes.
struct ProgramAccesses {
  std::vector<std::vector<AccessRegion>> first;      // of task 1
  std::vector<std::vector<AccessRegion>> second;     // of task 2
  std::vector<std::vector<AccessRegion>> unwritten;  // `CallRegions::unwritten`, of task 2
};

/// The tensors that any call of the program writes.
std::set<TensorId> WrittenBy(const Module& module, const CallProgram& program);

ProgramAccesses AccessesOf(Unknowns& unknowns, const BodyReader* reader = nullptr);
/// With a reader, or null, for each call.
ProgramAccesses AccessesOf(Unknowns& unknowns,
                           const std::function<const BodyReader*(const ProgramCall&)>& reader_of);

}  // namespace etc
