#include "runtime/weights/device_packer.h"

#include <algorithm>

#include "runtime/device_memory.h"
#include "runtime/weights/pack_kernel.h"

namespace etc::runtime {
namespace {

constexpr int64_t kMostBytes = int64_t{64} << 20;  // of a piece on the device
constexpr int64_t kAlignment = 256;
constexpr uint32_t kCopiedBytes = 16;  // what a thread copies at once, where it can
constexpr unsigned kBlocksOfSm = 8;    // all the threads that an SM has

}  // namespace

bool IsForDevice(const WeightPlan& plan, const WeightPiece& piece) {
  const bool is_packed = plan.params[piece.param].tiled.has_value();
  const bool is_converted = piece.conversion.kind != Conversion::Kind::Copy;
  return (is_packed || is_converted) && std::max(piece.Bytes(), piece.ReadBytes()) <= kMostBytes;
}

PackJob MakePackJob(const WeightPlan& plan, const WeightPiece& piece) {
  const auto& tiled = plan.params[piece.param].tiled;
  PackJob job;
  job.order = tiled ? TileOrder(*tiled) : TileOrder{1, 1, piece.Bytes(), false};
  job.kind = piece.conversion.kind;
  const bool is_wide =
      job.kind == Conversion::Kind::Copy && job.order.line_bytes % kCopiedBytes == 0;
  job.unit_bytes = is_wide ? kCopiedBytes : static_cast<uint32_t>(piece.conversion.to_bytes);
  job.units = static_cast<uint32_t>(piece.Bytes()) / job.unit_bytes;
  return job;
}

DevicePacker::~DevicePacker() {
  if (places_ != nullptr) {
    (void)FreeDeviceMemory(places_);
  }
  if (library_ != nullptr) {
    driver_.Note(driver_.cuLibraryUnload(library_), "cuLibraryUnload");
  }
}

Status DevicePacker::Open(size_t places, int64_t bytes) {
  ETC_RETURN_IF_BAD(OpenKernel());
  stride_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return AllocateDeviceMemory(static_cast<int64_t>(places) * stride_, &places_);
}

Status DevicePacker::OpenKernel() {
  ETC_RETURN_IF_BAD(driver_.CheckMade(driver_.cuLibraryLoadData(&library_, kPackKernelText, nullptr,
                                                                nullptr, 0, nullptr, nullptr, 0),
                                      "cuLibraryLoadData", &library_));
  cuda::Kernel kernel = nullptr;
  ETC_RETURN_IF_BAD(driver_.Check(driver_.cuLibraryGetKernel(&kernel, library_, kPackKernelName),
                                  "cuLibraryGetKernel"));
  ETC_RETURN_IF_BAD(
      driver_.Check(driver_.cuKernelGetFunction(&function_, kernel), "cuKernelGetFunction"));
  cuda::Device device = 0;
  int sms = 0;
  ETC_RETURN_IF_BAD(driver_.Check(driver_.cuCtxGetDevice(&device), "cuCtxGetDevice"));
  ETC_RETURN_IF_BAD(driver_.Check(driver_.cuDeviceGetAttribute(&sms, cuda::kAttributeSms, device),
                                  "cuDeviceGetAttribute"));
  most_blocks_ = static_cast<unsigned>(sms) * kBlocksOfSm;
  return {};
}

cuda::DevicePointer DevicePacker::Place(size_t index) const {
  return reinterpret_cast<cuda::DevicePointer>(places_) +
         index * static_cast<cuda::DevicePointer>(stride_);
}

Status DevicePacker::Pack(const WeightPiece& piece, size_t place, cuda::Stream stream) const {
  PackJob job = MakePackJob(plan_, piece);
  job.from = reinterpret_cast<const void*>(Place(place));
  job.to = static_cast<char*>(memory_[piece.param]) + piece.At();
  const unsigned blocks = std::min((job.units + kPackThreads - 1) / kPackThreads, most_blocks_);
  const cuda::LaunchConfig config{blocks, 1, 1, kPackThreads, 1, 1, 0, stream, nullptr, 0};
  void* arguments[] = {&job};
  return driver_.Check(driver_.cuLaunchKernelEx(&config, function_, arguments, nullptr),
                       "cuLaunchKernelEx");
}

}  // namespace etc::runtime
