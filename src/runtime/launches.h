// What one launch of a kernel puts on the stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

/// One entry with its number of tasks and the iteration of each repeat around it, outermost first.
struct LaunchStep {
  size_t entry = 0;  // number in program order
  int64_t tasks = 0;
  std::vector<int64_t> iterations;
};

/// The names of a kernel's entries, by number: one of a persistent kernel.
std::vector<std::string> EntryNames(const manifest::Kernel& kernel);

/// What messages call a kernel: its only or its first entry.
std::string NameOf(const manifest::Kernel& kernel);

/// How many repeats lie around the innermost launch.
size_t RepeatDepth(const manifest::Kernel& kernel);

/// The launches of a kernel that is a list of them in order, repeats unrolled, without those that
/// have no task.
Status ListLaunches(const manifest::Kernel& kernel, const std::vector<int64_t>& dims,
                    std::vector<LaunchStep>* steps);

}  // namespace etc::runtime
