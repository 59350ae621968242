// What the caller puts into index tensors, as it has promised.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "interpreter.h"
#include "ir/module.h"

namespace etc::mutation {

/// How the elements of index tensors, and the indices that data decide, are chosen.
struct DataChoice {
  enum class Kind { Least, Greatest, Random } kind = Kind::Least;
  uint64_t seed = 0;
  /// Data for which a computed tensor is not what a device function asks of it, or for which an
  /// element is read that no task wrote, are left out: the proofs assume that there are none.
  bool assumes = true;
};

class CallerData {
 public:
  CallerData(const Module& module, Interpreter& interpreter, const DataChoice& choice);

  bool assumes() const { return choice_.assumes; }

  /// An element of a parameter of the program; nothing where no data keep the precondition.
  Value Element(TensorId tensor, const std::vector<int64_t>& index);

  /// A number below `n`, for a `number` of something.
  int64_t Choose(int64_t n, uint64_t what, int64_t number) const;

 private:
  /// Its own precondition, or, where it has none, that which a device function asks of it.
  const Tensor& Precondition(TensorId tensor) const;
  void FindAsked(const std::vector<Argument>& args, DeviceId callee);

  const Module& module_;
  Interpreter& interpreter_;
  DataChoice choice_;
  std::map<TensorId, TensorId> asked_;  // by parameter of the program
};

}  // namespace etc::mutation
