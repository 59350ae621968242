// What a launch of a benchmark must read, as the simulator counts it.
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

}  // namespace etc
