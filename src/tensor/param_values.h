// The sizes of a run and the values that its inputs may have, as the program declares them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "etc/runtime.hpp"
#include "support/diagnostics.h"
#include "tensor/program_view.h"
#include "tensor/tensor_data.h"

namespace etc {

/// The value of each dim of the graph: set, or inferred from what is bound. Reports each that has
/// none as [command-line], with the range that it may have.
[[nodiscard]] std::optional<std::map<std::string, int64_t>> ResolveDims(const Instance& instance,
                                                                        const GraphView& graph,
                                                                        Diagnostics& diagnostics);

/// How the random elements of a parameter are drawn, so that they are what the program was promised
/// of them under the sizes of this run.
[[nodiscard]] RandomFill FillFor(const Instance& instance, const etc_param_info& param,
                                 int64_t elements, uint64_t seed, double scale);

/// Whether random elements can be distinct where they have to be. Reports [data] where a tensor has
/// more of them than there are values.
[[nodiscard]] bool CanDraw(const RandomFill& fill, const TensorData& tensor,
                           Diagnostics& diagnostics);

/// Holds given elements against the declared range; `origin` names where they are from. Reports
/// [data].
[[nodiscard]] bool CheckValues(const Instance& instance, const etc_param_info& param,
                               const TensorData& tensor, const std::string& origin,
                               Diagnostics& diagnostics);

}  // namespace etc
