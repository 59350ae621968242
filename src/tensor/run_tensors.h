// Makes the tensors of one run: from files, random, or poisoned.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/assignments.h"
#include "support/diagnostics.h"
#include "tensor/launcher.h"
#include "tensor/program_view.h"
#include "tensor/tensor_data.h"

namespace etc {

struct TensorSources {
  std::map<std::string, int64_t> dims;
  Assignments inputs;  // files by name of parameter
  uint64_t seed = 0;
  double scale = 1.0;
  bool checked_by_launch = false;  // the values of files
};

struct RunTensors {
  std::vector<TensorData> tensors;      // in the order of the graph's parameters
  std::map<std::string, int64_t> dims;  // the value of each, given or inferred from a .npy
};

/// Makes every tensor of the graph, of all ranks together, and binds it to the launcher. A dim that
/// is not given is inferred from the shapes of .npy inputs. The result must outlive the launches.
[[nodiscard]] std::optional<RunTensors> MakeTensors(Launcher& launcher, const GraphView& graph,
                                                    const TensorSources& sources,
                                                    Diagnostics& diagnostics);

}  // namespace etc
