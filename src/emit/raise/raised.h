// What emission decides of kernels before it prints them. Passes (raise.cpp) fill it in; printers
// read it and decide nothing. It is keyed by the ids of the module, which stays as it is.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"
#include "target/arch.h"

namespace etc {

/// How integers are divided.
enum class Division : uint8_t {
  Small,  // in 32 bits, several times faster: both are in 0 .. 2^31, and the divisor is not 0
  Floor,  // in 64 bits, by a divisor that is above 0 at all sizes
  Total,  // in 64 bits, by a divisor that may be 0
};

/// How an SM finds its tasks of a share. The tasks are numbered row-major over the axes.
struct RaisedShare {
  const Share& share;
  /// How many axes are loops, from the first on: others' ranges depend on them. The rest, the box,
  /// has a size for each of their values, and division gives its coordinates.
  size_t loops = 0;
  Division coordinates = Division::Floor;  // of a task's number by the extents of the box
  Division first = Division::Floor;        // of the first task's place by the number of SMs
};

struct RaisedKernel {
  const Module& module;
  const Kernel& kernel;
  DimRanges ranges = {};               // the sizes that the kernel is for
  std::vector<DeviceId> devices = {};  // those that it runs, each once, by their first share
  std::set<TensorId> flagged = {};     // parameters of these that are bound to flagged buffers
  std::set<TensorId> computed = {};    // parameters of these whose elements the kernel computes
  std::map<NodeId, RaisedShare> shares = {};
  std::map<ExprId, Division> divisions = {};  // of `/`, `%` and the intrinsics that divide
  std::set<ExprId> open_shifts = {};          // by places that may be outside of 0 .. 63
  std::map<ExprId, int64_t> limits = {};      // the values of `lower(d)` and `upper(d)`
  std::map<ExprId, double> doubles = {};      // floats without a variable, where one of 64 bits is
                                              // asked for
};

struct RaisedModule {
  const Module& module;
  Arch arch;
  std::vector<RaisedKernel> kernels = {};  // in the order of the module
};

}  // namespace etc
