// Names for the machine's integers. No toolkit header: this text compiles under NVRTC, which has
// none at hand, as well as under nvcc.
#pragma once

#define ETC_DEVICE __device__ __forceinline__

namespace etc {

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
using f64 = double;

}  // namespace etc
