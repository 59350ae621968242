// Weights on their way: read from the checkpoint's files by several threads, converted and packed
// by them or by the device, and brought to where a launch reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/status.h"
#include "runtime/weights/plan.h"

namespace etc::runtime {

/// Gets the bytes that are done, and all of them; false ends the upload.
using Progress = std::function<bool(int64_t done, int64_t total)>;

struct UploadOptions {
  size_t threads = 0;  // that read and pack; 0: as many as FillTeam has by itself
  bool pack_on_host = false;
  int64_t buffer_bytes = int64_t{16} << 20;  // of each of those that pieces go through
  Progress progress;
};

/// Fills the memory of each parameter that has its own (`same_as` has none): in host memory, or on
/// the device whose context is current. The device converts and packs what the threads read, unless
/// the options or a want of memory leave that to the threads. `progress` is called by this thread
/// alone, some ten times a second and once at the end; when it stops the upload, the status is
/// ETC_ERROR_CANCELLED.
Status UploadToHost(const WeightPlan& plan, const std::vector<void*>& memory,
                    const UploadOptions& options);
Status UploadToDevice(const WeightPlan& plan, const std::vector<void*>& memory,
                      const UploadOptions& options);

}  // namespace etc::runtime
