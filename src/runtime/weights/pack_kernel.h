// The text of pack_kernel.ptx, which the driver compiles for the device that it is loaded on.
#pragma once

namespace etc::runtime {

extern const char* const kPackKernelText;
inline constexpr const char* kPackKernelName = "etc_pack_weights";
inline constexpr unsigned kPackThreads = 256;  // of a block

}  // namespace etc::runtime
