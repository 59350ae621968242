// Functions that the library runs on the host and its kernels on a device.
#pragma once

#ifdef __CUDACC__
#define ETC_HOST_DEVICE __host__ __device__
#else
#define ETC_HOST_DEVICE
#endif
