// Kernels that the tests of both CUDA compilers share.
#pragma once

namespace etc {

inline constexpr const char* kScaleKernel =
    "extern \"C\" __global__ void Scale(float* p) { p[threadIdx.x] *= 2.0f; }\n";

/// An error in line 2.
inline constexpr const char* kBadKernel = "int fine;\nunknown_type bad;\n";

/// Needs far more registers than the 32 that a test allows it.
inline constexpr const char* kLargeKernel = R"(
extern "C" __global__ void Large(float* p, int n) {
  float a[64];
  for (int i = 0; i < 64; ++i) a[i] = p[i * n];
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < 64; ++i) a[i] = a[i] * a[(i + 1) % 64] + a[(i + 3) % 64];
  for (int i = 0; i < 64; ++i) p[i * n] = a[i];
})";

/// A wgmma in a function that is not inlined: ptxas serialises it.
inline constexpr const char* kSerialisedKernel = R"(
__device__ __noinline__ void Multiply(float* d, unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b) : "memory");
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
extern "C" __global__ void Serialised(float* out, unsigned long long a, unsigned long long b) {
  float d[4] = {};
  for (int k = 0; k < 8; ++k) Multiply(d, a + k, b + k);
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
})";

}  // namespace etc
