// Weights on their way: read from the checkpoint's mapping, converted, packed and brought to where
// a launch reads them, by several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/status.h"
#include "runtime/weights/plan.h"

namespace etc::runtime {

/// Gets the bytes that are done, and all of them; false ends the upload.
using Progress = std::function<bool(int64_t done, int64_t total)>;

/// Fills the memory of each parameter that has its own (`same_as` has none): in host memory, or on
/// the device whose context is current. `threads` read and pack; 0: as many as FillTeam has by
/// itself. `progress` is called by this thread alone, some ten times a
/// second and once at the end; when it stops the upload, the status is ETC_ERROR_CANCELLED.
Status UploadToHost(const WeightPlan& plan, const std::vector<void*>& memory, size_t threads,
                    const Progress& progress);
Status UploadToDevice(const WeightPlan& plan, const std::vector<void*>& memory, size_t threads,
                      const Progress& progress);

}  // namespace etc::runtime
