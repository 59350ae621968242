// What code can be made for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace etc {

enum class Arch : uint8_t {
  Host,   // C++ for this machine, one thread for each SM
  Sm90a,  // CUDA for compute capability 9.0 with its own features
};

/// As on the command line, in manifests and behind `impl`.
std::string_view Spelling(Arch arch);
std::optional<Arch> ArchOf(std::string_view spelling);

/// What the driver calls a device that runs it, `sm_90`; empty for the host.
std::string_view DeviceOf(Arch arch);

/// The most bytes of a kernel's parameters, or nothing where there is no limit. Beyond 4,096 the
/// driver must be one of CUDA 12.1 or later.
std::optional<int64_t> MostLaunchBytes(Arch arch);

/// The numbers of consumer warps that a CTA may have; none where any will do. On a GPU they are
/// whole warpgroups, as registers are handed over between these, and so many that what the helpers
/// give is what the consumers can take (kernels/engine/roles.cuh).
std::vector<int64_t> ConsumerWarps(Arch arch);

/// The threads of a CTA with that many consumer warps: one more warpgroup has the loader and the
/// epilogue warp, since registers are handed over between whole warpgroups.
int64_t ThreadsOf(int64_t consumer_warps);

}  // namespace etc
