// What a launch of a benchmark must read, as the simulator counts it, and whether the source that
// says so is that of the launch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/tensors.h"
#include "ir/module.h"
#include "target/target.h"

namespace etc {

/// Bytes of parameters that the kernel of `graph` for the sizes of `tensors` must read once. What
/// is read of a tensor may depend on the elements of another (a sequence's length, say): each of
/// those counts as their mean, which is exact where it depends on them linearly. Nothing where the
/// scheduled module has no such kernel.
[[nodiscard]] std::optional<int64_t> BytesRead(const Module& module, const BenchTensors& tensors,
                                               const std::string& graph, const Target& target);

/// "a parameter: `%x: f32[17x5]` and `%x: f32[17x1000]`", the first in which that kernel differs
/// from `tensors`; empty where there is none, and where the module has no such kernel.
[[nodiscard]] std::string Difference(const Module& module, const BenchTensors& tensors,
                                     const std::string& graph);

}  // namespace etc
