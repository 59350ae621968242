// Pieces that a device converts and packs, from a place beside the weights where they were copied
// as the checkpoint has them.
#pragma once

#include <vector>

#include "runtime/cuda_driver.h"
#include "runtime/status.h"
#include "runtime/weights/pack_job.h"
#include "runtime/weights/pieces.h"

namespace etc::runtime {

/// Whether a piece is more than a copy. Not where a single band is larger than any memory that a
/// load should take beside the weights.
bool IsForDevice(const WeightPlan& plan, const WeightPiece& piece);

/// Of a piece that is for the device; its addresses are left to the caller.
PackJob MakePackJob(const WeightPlan& plan, const WeightPiece& piece);

/// All calls are made by one thread, with the device's context current.
class DevicePacker {
 public:
  DevicePacker(const cuda::Driver& driver, const WeightPlan& plan, const std::vector<void*>& memory)
      : driver_(driver), plan_(plan), memory_(memory) {}
  /// No piece may be on its way.
  ~DevicePacker();
  DevicePacker(const DevicePacker&) = delete;
  DevicePacker& operator=(const DevicePacker&) = delete;

  /// Gets the kernel, and so many places of `bytes` each.
  Status Open(size_t places, int64_t bytes);

  cuda::DevicePointer Place(size_t index) const;
  /// Enqueues the kernel that brings the piece from there to the parameter's memory.
  Status Pack(const WeightPiece& piece, size_t place, cuda::Stream stream) const;

 private:
  Status OpenKernel();

  const cuda::Driver& driver_;
  const WeightPlan& plan_;
  const std::vector<void*>& memory_;
  cuda::Library library_ = nullptr;
  cuda::Function function_ = nullptr;
  unsigned most_blocks_ = 0;
  void* places_ = nullptr;
  int64_t stride_ = 0;  // from one place to the next
};

}  // namespace etc::runtime
